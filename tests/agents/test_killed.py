"""Kill -9 at every turn of a six-turn run, and go on: the same run in the end, and no answer of the model paid for twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from popcorn.records.runs import read_runs
from popcorn.schema.run import Run
from tests.agents.judge import WRONG, right
from tests.agents.server import ModelServer, Reply

ROOT = Path(__file__).parents[2]
SCRIPT = [
    Reply(calls=[("get_gpu_specs", {}), ("static_check", {"kernel_code": right(1.5)})], reasoning="first"),
    Reply(calls=[("compile_kernel", {"kernel_code": right(1.5)}), ("profile_kernel", {"kernel_code": right(1.5)})]),
    Reply(calls=[("profile_kernel", {"kernel_code": right(3.0)})], text="a better one"),
    Reply(calls=[("run_correctness", {"kernel_code": WRONG})]),
    Reply(calls=[("profile_kernel", {"kernel_code": right(2.0)})]),
    Reply(calls=[("submit_kernel", {"kernel_code": right(3.0)})]),
]
MOMENTS = [(1, "answered"), (2, "calling"), (3, "turn"), (4, "answered"), (5, "calling"), (6, "answered"), (6, "turn"), (6, "ended")]
"""Turn, and: its answer is on disk · a tool is about to run · the turn is whole · the journal has its end, the run's file not."""


def start(server: ModelServer, folder: Path, moments: list[tuple[int, str]]) -> list[int]:
    """How each process ended: one a moment, and one that nobody kills."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.agents.killed", server.url, str(folder), *(f"{turn}:{what}" for turn, what in moments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [int(line) for line in done.stdout.splitlines() if line.lstrip("-").isdigit()]


def without_times(run: Run) -> dict:
    """What must be the same however often it was stopped."""
    times = {"started", "finished", "wall_s", "llm_s", "tool_s", "queue_s", "run_s"}

    def strip(value):
        if isinstance(value, dict):
            return {name: strip(inner) for name, inner in value.items() if name not in times}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip(run.model_dump(mode="json"))


def test_a_run_killed_at_every_turn_ends_as_one_that_was_not(tmp_path):
    with ModelServer(SCRIPT) as server:
        assert start(server, tmp_path / "killed", MOMENTS) == [-signal.SIGKILL] * len(MOMENTS) + [0]
        assert dict(server.answered) == dict.fromkeys(range(6), 1), "no answer was asked for twice"
        assert start(server, tmp_path / "whole", []) == [0]
    (killed,), (whole,) = read_runs(tmp_path / "killed"), read_runs(tmp_path / "whole")
    assert without_times(killed) == without_times(whole)
    assert (killed.outcome, killed.speedup, len(killed.turns), killed.ended_by) == ("correct", 3.0, 6, "submit")
    assert [turn.started for turn in killed.turns] == sorted(turn.started for turn in killed.turns)
