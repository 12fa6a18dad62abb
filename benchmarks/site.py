"""How long does a large site take? 10,000 runs and 150,000 records, built cold and again: `python benchmarks/site.py [--runs N --records N]`.

The store is made first (not timed): runs with ten turns each, 40,000 evaluations' worth of files would be unlike any store, so that records beyond
the runs' own are rows of the library, as a fill makes them. Prints one JSON object. Peak size of a page counts its HTML and the data it loads.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

OPS = ("rms_norm", "layer_norm", "softmax", "logsumexp", "cross_entropy", "swiglu", "geglu", "rope", "add_rms_norm", "linear_cross_entropy")


def make_store(folder: Path, runs: int, records: int) -> None:
    """Lines are written from a few real ones by changing ids, sizes and times: validating 150,000 would take longer than building."""
    from popcorn.records.runs import write_run
    from tests.site.made_store import evaluation, library, make_run, measured

    good = evaluation("popcorn/L1/1", "correct", 1, measurement=measured(1e-5, 2.0, 0.5)).model_dump(mode="json")
    bad = evaluation("popcorn/L1/1", "compile_error", 1).model_dump(mode="json")
    rows = [one.model_dump(mode="json") for one in library()]
    place = folder / "records" / "nvidia-h200-sxm"
    place.mkdir(parents=True)
    one = make_run("r", "popcorn/L1/1", "m", "default", None, turns=10)
    files = [(place / f"2025-{month:02d}-ab12.jsonl").open("w") for month in range(1, 9)]
    for n in range(runs):
        line = dict(good if n % 3 else bad)
        problem = f"{('popcorn', 'original')[n % 2]}/L{1 + n // 2 % 4}/{1 + n // 8 % 60}"
        line |= {
            "id": f"{n:016x}",
            "subject": {
                **line["subject"],
                "problem": problem,
                "candidate_hash": f"{n:016x}",
                "source": line["subject"]["source"] + f"# {n}\n",
            },
        }
        if n % 3:
            line["measurement"] = {
                **line["measurement"],
                "timing": {
                    **line["measurement"]["timing"],
                    "speedup": {"value": 1 + n % 97 / 30, "low": 1 + n % 97 / 31, "high": 1 + n % 97 / 29},
                },
            }
        files[n % 8].write(json.dumps(line, separators=(",", ":")) + "\n")
        write_run(
            one.model_copy(
                update={
                    "id": f"run-{n}",
                    "problem": problem,
                    "model": f"model-{n % 12}",
                    "tier": ("single", "default", "all")[n % 3],
                    "record_id": line["id"],
                    "candidate": line["subject"]["source"],
                    "ended_by": "submit",
                }
            ),
            folder / "runs" / "sweep",
        )
    for n in range(records - runs):
        row = dict(rows[n % len(rows)])
        dims = {"R": 1 + n % 977, "D": 64 * (1 + n % 131)}
        row |= {
            "id": f"f{n:015x}",
            "subject": {**row["subject"], "problem": OPS[n % len(OPS)], "implementation": ("popcorn", "liger", "torch")[n // 10 % 3]},
            "case": {**row["case"], "dims": dims},
        }
        files[n % 8].write(json.dumps(row, separators=(",", ":")) + "\n")
    for file in files:
        file.close()


def largest_page(site: Path) -> tuple[str, int]:
    """The page with most bytes of HTML and data before anybody does anything."""
    sizes = {}
    for page in site.rglob("*.html"):
        text = page.read_text()
        data = [(page.parent / name).resolve() for name in re.findall(r'src="([^"]*data/[^"]+)"', text)]
        pieces = re.search(r'"pieces":\[\{"name":"([^"]+)"', text)
        if page.parent.name == "ops" and pieces:
            data.append(page.with_suffix("") / f"{pieces[1]}.js")
        sizes[str(page.relative_to(site))] = len(text.encode()) + sum(one.stat().st_size for one in data if one.exists())
    return max(sizes.items(), key=lambda pair: pair[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=150_000)
    parser.add_argument("--folder", type=Path, help="keep the store and the site here")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        home = asked.folder or Path(made)
        if not (home / "records").exists():
            make_store(home, asked.runs, asked.records)
        environment = {**os.environ, "POPCORN_CACHE_DIR": str(home), "PYTHONPATH": str(Path(__file__).parents[1])}
        took: list[float] = []
        worked: list[float] = []
        for _ in range(2):
            started, before = time.monotonic(), sum(os.times()[2:4])
            done = subprocess.run(
                [sys.executable, "-m", "popcorn.cli.main", "site", "build"], env=environment, capture_output=True, text=True, check=True
            )
            took.append(round(time.monotonic() - started, 1))
            worked.append(round(sum(os.times()[2:4]) - before, 1))
        name, size = largest_page(home / "site")
        said = done.stderr.strip().splitlines()[-1]
        print(
            json.dumps(
                {
                    "runs": asked.runs,
                    "records": asked.records,
                    "cores": len(os.sched_getaffinity(0)),
                    "cold_s": took[0],
                    "cold_cpu_s": worked[0],
                    "again_s": took[1],
                    "again": said,
                    "largest_page": name,
                    "largest_page_bytes": size,
                }
            )
        )


if __name__ == "__main__":
    main()
