"""kill -9 ten times at random points, and go on: the same results as an undisturbed sweep, nothing judged twice, no answer of a model asked for twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from popcorn.records.runs import read_runs
from popcorn.records.store import Store
from popcorn.sweep.done import Done

ROOT = Path(__file__).parents[2]
SURELY_HUNG_S = 3600
"""Two minutes where nobody else works; many times that on a loaded machine, and nothing here is about speed."""


def sweep(cache: Path, kills: int) -> list[dict]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "POPCORN_CACHE_DIR": str(cache), "INSPECT_DISPLAY": "none"}
    command = [sys.executable, "-m", "tests.sweep.killed", str(kills), "7"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SURELY_HUNG_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def contents(cache: Path) -> tuple[set, set, set]:
    records = {
        (one.subject.problem, one.subject.candidate_hash, one.provenance.asked, one.verdict.outcome) for one in Store(cache / "records")
    }
    runs = {
        (run.problem, run.model, run.tier, run.outcome, run.ended_by, len(run.turns), run.candidate)
        for run in read_runs(cache / "runs" / "agents")
    }
    return records, runs, set(Done(cache).read().done)


def test_a_sweep_killed_ten_times_ends_as_one_that_was_not(tmp_path):
    sessions = sweep(tmp_path / "killed", 10)
    assert [one["code"] for one in sessions][-1] == 0
    assert sum(one["code"] == -signal.SIGKILL for one in sessions) >= 5, "most kills met a sweep at work"
    assert [again for one in sessions for again in one["again"]] == [], "an answer that was on disk was asked for again"
    sweep(tmp_path / "whole", 0)
    killed, whole = contents(tmp_path / "killed"), contents(tmp_path / "whole")
    assert killed == whole
    assert len(whole[2]) == 72 == len(whole[1])
    judged = [line.split()[0] for line in (tmp_path / "killed" / "evaluations.log").read_text().splitlines()]
    assert len(judged) == len(set(judged)), "an evaluation that had finished was repeated"
    stored = list(Store(tmp_path / "killed" / "records"))
    assert len(stored) == len({one.provenance.asked for one in stored})
