"""A process that runs one agent against a test server and ends itself by SIGKILL at a chosen moment: `python -m tests.agents.killed URL FOLDER TURN WHAT`."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from popcorn.agents.recorder import Recorder
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import find_tier
from popcorn.suites.problems import find_problem
from tests.agents.judge import SETTINGS, place_with, row_of


def main(url: str, folder: str, turn: int, what: str) -> None:
    """TURN 0 kills nobody."""

    def observe(seen: str, recorder: Recorder) -> None:
        done = len(recorder.run.turns)
        if turn and seen.startswith(what) and done == (turn if what == "turn" else turn - 1):
            os.kill(os.getpid(), signal.SIGKILL)

    place = place_with()
    asyncio.run(
        run_agents(
            find_problem("original/L1/36"), row_of(url), find_tier("all"), SETTINGS, place, folder=Path(folder), observe=observe,
        )
    )  # fmt: skip
    place.engine.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
