"""Does a busy machine accuse an honest kernel, or hide a false clock? Rounds of both beside processes that want the memory, by turns.

Target: no honest one accused, every false clock caught. Run: python benchmarks/accusations.py [ROUNDS] [LOADS]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from popcorn.agents.providers.scripted import KERNELS
from popcorn.audit.battery import run
from popcorn.audit.samples import read_samples
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.request import Request

HUNGRY = """
import random, time, numpy
source, target = numpy.ones(16 << 20), numpy.empty(16 << 20)
while True:
    end = time.monotonic() + random.uniform(0.05, 0.6)
    while time.monotonic() < end:
        numpy.copyto(target, source)
    time.sleep(random.uniform(0.05, 0.6))
"""
EVIL = ("patched_timer", "patched_block", "waiting_helper", "impossible_times")
HONEST = ("c_openmp", "workspace_reused", "keeps_results", "c_static_workspace")


def main(rounds: int, loads: int) -> None:
    samples = [one for kind in ("evil", "honest") for one in read_samples(kind) if one.name in EVIL + HONEST]
    told: dict[str, list[str]] = {}

    hungry = [subprocess.Popen([sys.executable, "-c", HUNGRY]) for _ in range(loads)]
    try:
        with tempfile.TemporaryDirectory() as folder, Bench("cpu") as bench:
            store = Store(Path(folder))
            for _ in range(rounds):
                for path in sorted((KERNELS / "original_L1_89").glob("*.c")):
                    request = Request(
                        problem=find_problem("original/L1/89"), source=path.read_text(), language="c", name=path.name, device="cpu",
                        budget_s=1.0, trials=5, compile_baseline=False, counters=False, energy=False,
                    )  # fmt: skip
                    verdict = evaluate(request, bench, store).verdict
                    told.setdefault(f"honest {path.stem}", []).append(verdict.outcome + (f": {verdict.reason}" if verdict.reason else ""))
                for answer in run(samples, bench, store, "cpu", progress=lambda text: print(text, file=sys.stderr, flush=True)):
                    told.setdefault(f"{answer.sample.kind} {answer.sample.name}", []).append(answer.sentence())
    finally:
        for process in hungry:
            process.kill()
            process.wait()
    accused = [text for name, texts in told.items() for text in texts if name.startswith("honest") and not text.startswith("correct")]
    missed = [
        f"{name}: {text}" for name, texts in told.items() for text in texts if name.startswith("evil") and not text.startswith("cheated")
    ]
    print(json.dumps({"loads": loads, "accused": accused, "missed": missed, "told": told}, indent=1))
    raise SystemExit(1 if accused or missed else 0)


if __name__ == "__main__":
    main(*(int(text) for text in [*sys.argv[1:], *("3", "2")[len(sys.argv) - 1 :]]))
