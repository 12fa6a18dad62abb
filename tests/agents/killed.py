"""Runs one agent against a test server in forked processes that end themselves by SIGKILL at chosen moments, and once more to the end.

`python -m tests.agents.killed URL FOLDER [TURN:WHAT …]` prints how each process ended. Forked, so that Inspect is imported once.
"""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

from popcorn.agents import recorder as recording
from popcorn.agents.models import find_model
from popcorn.agents.recorder import Recorder
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import find_tier
from popcorn.records.runs import write_run
from popcorn.suites.problems import find_problem
from tests.agents.judge import SETTINGS, place_with, row_of


def work(url: str, folder: str, turn: int, what: str, model: str = "") -> None:
    """One process's life. TURN 0 kills nobody."""

    def observe(seen: str, recorder: Recorder) -> None:
        done = len(recorder.run.turns)
        if turn and seen.startswith(what) and done == (turn if what == "turn" else turn - 1):
            os.kill(os.getpid(), signal.SIGKILL)

    if what == "ended":  # the journal says so, the run's file does not yet
        recording.write_run = lambda run, folder: os.kill(os.getpid(), signal.SIGKILL) if run.ended_by else write_run(run, folder)
    problem = find_problem("original/L1/36")
    row = find_model(model) if model else row_of(url)
    asyncio.run(run_agents(problem, row, find_tier("all"), SETTINGS, place_with(), folder=Path(folder), observe=observe))


def in_a_process(url: str, folder: str, moment: str) -> int:
    """Exit code, or minus the signal."""
    turn, _, what = moment.partition(":")
    pid = os.fork()
    if pid == 0:
        try:
            work(url, folder, int(turn), what)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def warm_up() -> None:
    """What the first evaluation of a process imports and looks up, once for all."""
    import openai.resources.chat  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        work("http://127.0.0.1:9/v1", folder, 0, "", "scripted/brisk")


if __name__ == "__main__":
    warm_up()
    for one in [*sys.argv[3:], "0:"]:
        print(in_a_process(sys.argv[1], sys.argv[2], one), flush=True)
