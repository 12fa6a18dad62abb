"""What does growth cost? Start of commands that need no torch, a view of up to a million records, a plan of 100,000 jobs, a site of 10,000 runs.

    python benchmarks/scale.py [--records 1000000] [--jobs 100000] [--runs 10000] [--only start view plan site]

Each is taken at a tenth and at the whole (the view at a hundredth, too); `grows as n^p` is the slope of a line through the logarithms. Targets:
start 0.25 s; a million records viewed in 5 s and 1 GB; plan 5 s; site 120 s. A start is one with modules compiled, as an installation has them, and with
what a first start kept; the first one is told beside it. The quickest of seven is what a busy machine disturbs least.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
COMMANDS = (
    ["--help"],
    ["--version"],
    ["problems", "list"],
    ["ops"],
    ["bench", "view"],
    ["sweep", "plan", "smoke"],
    ["problems", "show", "popcorn/L1/29"],
)


def run(arguments: list[str], cache: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of one command in a process of its own."""
    environment = {**os.environ, "POPCORN_CACHE_DIR": str(cache), "PYTHONPYCACHEPREFIX": str(cache / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "popcorn", *arguments], env=environment, cwd=ROOT, stdout=subprocess.DEVNULL) as started:
        _, status, used = os.wait4(started.pid, 0)
        seconds = time.perf_counter() - began
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"popcorn {' '.join(arguments)} ended with {started.returncode}")
    return seconds, used.ru_maxrss / 1024


def make_rows(path: Path, count: int) -> None:
    """A table of `count` rows of the library: 30 ops, 5 implementations, as many cases as it takes."""
    import duckdb

    from popcorn.records.tables import write_table
    from tests.test_dispatch import row

    one = path.with_name("one.parquet")
    write_table([row("popcorn", 2.0)], one)
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT one.* REPLACE (
                      'op_' || (i % 30) AS problem, 'made_' || (i // 30 % 5) AS implementation, 'R' || (i // 150) AS case_id,
                      md5(i::VARCHAR)[:16] AS id, (0.5 + (i % 7))::DOUBLE AS speedup, 'hash' || (i % 30) AS problem_hash)
                  FROM '{one}' AS one, range({count}) AS numbers(i)) TO '{path}' (FORMAT parquet)
        """)


def start(folder: Path) -> None:
    for arguments in COMMANDS:
        run(arguments, folder / "before")
    (folder / "before" / "compiled").rename(folder / "compiled")
    for arguments in COMMANDS:
        first = run(arguments, folder)[0]
        times = [run(arguments, folder)[0] for _ in range(7)]
        told = f"{statistics.median(times):.3f} s in the median of 7, {min(times):.3f} s at best, {first:.3f} s the first time"
        print(f"start  popcorn {' '.join(arguments):28} {told}")


def view(folder: Path, records: int) -> None:
    def measure(count: int) -> float:
        # by another process: what starts a command lends it its own peak
        subprocess.run([sys.executable, __file__, "--make", folder / f"{count}.parquet", "--records", str(count)], check=True)
        seconds, megabytes = run(["bench", "view", "--table", str(folder / f"{count}.parquet")], folder)
        one, _ = run(["bench", "view", "op_3", "--table", str(folder / f"{count}.parquet")], folder)
        print(f"view   {count:>9,} records: {seconds:.2f} s, {megabytes:.0f} MB at its peak; one op's cases {one:.2f} s")
        return seconds

    growth((records // 100, records // 10, records), measure)


def plan(jobs: int) -> None:
    from benchmarks.plan import measure as planned

    def measure(count: int) -> float:
        made, missing, seconds = planned(count)
        print(f"plan   {made:>9,} jobs against {made - missing:,} ends: {seconds:.2f} s")
        return seconds

    growth((jobs // 10, jobs), measure)


def site(runs: int) -> None:
    def measure(count: int) -> float:
        sizes = ["--runs", str(count), "--records", str(15 * count)]
        told = subprocess.run([sys.executable, ROOT / "benchmarks" / "site.py", *sizes], capture_output=True, text=True, check=True)
        made = json.loads(told.stdout.splitlines()[-1])
        print(
            f"site   {count:>9,} runs, {15 * count:,} records: {made['cold_s']} s ({made['cold_cpu_s']} s of processors), "
            f"again {made['again_s']} s; largest page {made['largest_page_bytes'] / 1e6:.2f} MB"
        )
        return float(made["cold_s"])

    growth((runs // 10, runs), measure)


def growth(counts: tuple[int, ...], measure: Callable[[int], float]) -> None:
    """Measure at each count and fit the exponent."""
    logs = [(math.log(count), math.log(measure(count))) for count in counts]
    x, y = ([pair[i] for pair in logs] for i in (0, 1))
    slope = statistics.linear_regression(x, y).slope
    print(f"       grows as n^{slope:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", choices=("start", "view", "plan", "site"), default=("start", "view", "plan", "site"))
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        make_rows(asked.make, asked.records)
        sys.exit()
    print(f"{os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as made:
        for name in asked.only:
            {"start": lambda: start(Path(made)), "view": lambda: view(Path(made), asked.records), "plan": lambda: plan(asked.jobs),
             "site": lambda: site(asked.runs)}[name]()  # fmt: skip
