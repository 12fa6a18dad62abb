"""A plan of 100,000 jobs, diffed against a store that holds half of their ends: seconds. Target: under 5.

python benchmarks/plan.py [--jobs 100000]
"""

import argparse
import json
import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from popcorn.suites.problems import list_problems
from popcorn.sweep.done import Done
from popcorn.sweep.jobs import agent_jobs, problems_of
from popcorn.sweep.matrix import Limits, Matrix
from popcorn.sweep.plan import make_plan


def matrix_of(jobs: int) -> Matrix:
    """Every shipped problem that needs one device, three models, three tiers, as many repeats as it takes."""
    levels = tuple(sorted({one.level for one in list_problems() if one.level}))
    models = ("scripted/steady", "scripted/brisk", "baseline/eager")
    matrix = Matrix(name="large", levels=levels, models=models, tiers=("single", "default", "all"), limits=Limits(jobs=jobs))
    return matrix.model_copy(update={"repeats": -(-jobs // (9 * len(problems_of(matrix))))})


def measure(jobs: int) -> tuple[int, int, float]:
    """Jobs planned, of these missing, seconds."""
    matrix = matrix_of(jobs)
    with tempfile.TemporaryDirectory() as folder:
        done = Done(Path(folder))
        done.folder.mkdir()
        lines = [
            {"job": job.id, "kind": "done", "sweep": "large", "run": "0" * 16, "problem": job.problem, "model": job.model, "tier": job.tier, "wall_s": 60.0, "tokens": 9000, "cost_usd": 0.1, "outcome": "correct"}
            for job in agent_jobs(matrix)[::2]
        ]  # fmt: skip
        (done.folder / "host.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        began = time.perf_counter()
        plan = make_plan(matrix, done)
        return len(plan.jobs), len(plan.missing), time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    count, missing, seconds = measure(parser.parse_args().jobs)
    print(f"{os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f}")
    print(f"{count:,} jobs planned and diffed against {count - missing:,} ends in {seconds:.2f} s; {missing:,} missing")
