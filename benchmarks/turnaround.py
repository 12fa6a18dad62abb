"""How long from a kernel's text to a full verdict? Ours, with nothing built and with everything built, beside the plain way, in one run.

    python benchmarks/turnaround.py [--device cpu|cuda] [--no-plain] [--counters]

Ours: a warm harness (the zygote is up; on a GPU processes with contexts wait, as they do when an agent has thought for some seconds), then `evaluate`: build, trials against float64, turns with the baseline and the controls, memory,
launches, energy, roofline. `first` starts with an empty build cache, `again` is the same text judged a second time, and `known` is its record, found by who asks word for word what was
asked before (a sweep, the service, `popcorn eval --known`): nothing is judged then. torch.compile's baseline is left
out of both, as it is measured once for a problem and remembered.

Plain: a fresh `python` that imports torch, lets the candidate build itself with torch's own load_inline (empty extension folder), compares
five trials with allclose and times 100 calls. A `.c` or `.cu` text has no plain way without a binding: the load_inline form of the same
kernel stands beside it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GPU = ROOT / "tests" / "gpu" / "candidates"
CPU = ROOT / "benchmarks" / "candidates"
PROBLEM = "popcorn/L1/29"
# candidate, and the file that the plain way runs for the same kernel
CANDIDATES = {
    "cpu": [
        (CPU / "logsumexp.c", CPU / "logsumexp_inline.py"),
        (CPU / "logsumexp_inline.py", CPU / "logsumexp_inline.py"),
        (GPU / "logsumexp_torch.py", GPU / "logsumexp_torch.py"),
    ],
    "cuda": [
        (GPU / "logsumexp.cu", GPU / "logsumexp_inline.py"),
        (GPU / "logsumexp_nvrtc.py", GPU / "logsumexp_nvrtc.py"),
        (GPU / "logsumexp_triton.py", GPU / "logsumexp_triton.py"),
        (GPU / "logsumexp_inline.py", GPU / "logsumexp_inline.py"),
        (GPU / "logsumexp_torch.py", GPU / "logsumexp_torch.py"),
    ],
}

PLAIN = """
import importlib.util, sys, time, torch
device, problem, candidate = sys.argv[1:4]
def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
reference, new = load(problem, "reference"), load(candidate, "candidate")
model, mine = reference.Model().to(device), new.ModelNew().to(device)
sizes = {name: size.at("cpu" if device == "cpu" else "full") for name, size in vars(reference).items() if isinstance(size, int) and hasattr(size, "at")}
for seed in range(5):
    torch.manual_seed(seed)
    inputs = [x.to(device) for x in reference.get_inputs(**sizes)]
    assert torch.allclose(model(*inputs), mine(*inputs), atol=1e-4, rtol=1e-4)
for call in (model, mine):
    for _ in range(100):
        call(*inputs)
    if device != "cpu":
        torch.cuda.synchronize()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-plain", action="store_true")
    parser.add_argument("--counters", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="popcorn-turnaround-") as folder:
        os.environ["POPCORN_CACHE_DIR"] = folder
        run(options, Path(folder))


def wait_warm(bench: Any) -> None:
    """Until no more processes come to wait: as many do as this bench keeps."""
    seen, quiet_since = -1, time.monotonic()
    while bench.spares is not None and time.monotonic() - quiet_since < 1.5:
        if (now := len(bench.spares.pids())) != seen:
            seen, quiet_since = now, time.monotonic()
        time.sleep(0.05)


def run(options: argparse.Namespace, folder: Path) -> None:
    """Prints a row a candidate."""
    from popcorn.evaluate import evaluate
    from popcorn.records.store import Store
    from popcorn.suites.problems import find_problem
    from popcorn.toolchain.languages import detect_language
    from popcorn.worker.bench import Bench
    from popcorn.worker.remembering import find_known
    from popcorn.worker.request import Request

    problem = find_problem(PROBLEM)
    store = Store(folder / "records")
    began = time.perf_counter()
    with Bench(options.device) as bench:
        bench.nursery.wait_ready()
        print(
            f"{bench.machine.id}, torch {bench.machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; harness up in {time.perf_counter() - began:.2f} s"
        )
        kind = "cuda" if bench.cuda else "cpu"
        measure_ceilings_first(bench)
        print(
            f"{'candidate':26}{'language':10}{'first':>9}{'of it build':>13}{'again':>9}{'known':>9}{'plain':>9}{'plain/first':>13}{'plain/again':>13}"
        )
        plain_times: dict[Path, float] = {}
        for path, plain_path in CANDIDATES[kind]:
            source = path.read_text()
            request = Request(
                problem=problem, source=source, language=detect_language(path.name, source, None), name=path.name, device=options.device,
                budget_s=1.0, compile_baseline=False, counters=options.counters,
            )  # fmt: skip
            seconds, builds = [], []
            for _ in range(2):
                wait_warm(bench)
                start = time.perf_counter()
                record = evaluate(request, bench, store)
                seconds.append(time.perf_counter() - start)
                builds.append(record.build.build_s or 0.0)
                if not record.verdict.correct:
                    raise SystemExit(f"{path.name}: {record.verdict.outcome}: {record.verdict.reason}")
            start = time.perf_counter()
            if find_known(request, Store(folder / "records"), bench.machine) is None:
                raise SystemExit(f"{path.name} was judged, and its record is not found")
            known_s = time.perf_counter() - start
            if not options.no_plain and plain_path not in plain_times:
                plain_times[plain_path] = run_plain(kind, problem.path, plain_path)
            plain = plain_times.get(plain_path)
            ratios = [f"{plain / s:12.1f}×" if plain else f"{'—':>13}" for s in seconds]
            shown = f"{plain:8.1f}s" if plain else f"{'—':>9}"
            print(
                f"{path.name:26}{request.language:10}{seconds[0]:8.2f}s{builds[0]:12.2f}s{seconds[1]:8.2f}s{known_s:8.3f}s{shown}{ratios[0]}{ratios[1]}",
                flush=True,
            )


def measure_ceilings_first(bench: object) -> None:
    """The machine's ceilings are measured once and kept; that is no part of a candidate's turnaround."""
    from popcorn.devices.ceilings import measure_in_child

    bench.keep_ceilings(measure_in_child(bench.device, 1.0))  # type: ignore[attr-defined]


def run_plain(kind: str, problem: str, candidate: Path) -> float:
    """Seconds of a fresh process that does it all itself."""
    with tempfile.TemporaryDirectory() as extensions:
        env = {
            **os.environ,
            "TORCH_EXTENSIONS_DIR": extensions,
            "TRITON_CACHE_DIR": extensions,
            "PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", ""),
        }
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", PLAIN, kind, problem, str(candidate)], env=env, capture_output=True, text=True)
        if done.returncode != 0:
            print(
                f"  the plain way fails for {candidate.name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
            )
            return float("nan")
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
