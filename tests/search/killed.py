"""Runs one search again and again, killed -9 at given effects, each time in a forked child; prints what every way ended with.

killed.py FOLDER STRATEGY POINT…
"""

import hashlib
import os
import pickle
import sys
from pathlib import Path

from popcorn.search import ledger as ledgers
from tests.search.made import HashJudge, Numbers, run, told

PLAN = {"evaluations": 24, "width": 3, "migrate_every": 6, "islands": 3, "finals": 2}


def digest(folder: Path, strategy: str) -> str:
    return hashlib.sha256(pickle.dumps(told(run(folder, strategy=strategy, **PLAN)))).hexdigest()[:16]


class Killing:
    """Ends this process before (even points) or after (odd points) the n-th effect is on disk."""

    def __init__(self, point: int):
        self.point, self.count = point, 0
        self.real = ledgers.Ledger.once

    def __call__(self, ledger, key, asked, make):
        new = not ledger.holds(key)
        self.count += new
        here = new and self.count == self.point // 2 + 1

        def made():
            answer = make()
            if here and self.point % 2 == 0:
                os.kill(os.getpid(), 9)
            return answer

        answer = self.real(ledger, key, asked, made)
        if here:
            os.kill(os.getpid(), 9)
        return answer


def main(folder: str, strategy: str, *points: str) -> None:
    print(digest(Path(folder) / "whole", strategy))
    for point in points:
        there = Path(folder) / point
        child = os.fork()
        if child == 0:
            killing = Killing(int(point))
            ledgers.Ledger.once = lambda self, key, asked, make, killing=killing: killing(self, key, asked, make)
            digest(there, strategy)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(digest(there, strategy), os.WTERMSIG(status) if os.WIFSIGNALED(status) else "alive")


if __name__ == "__main__":
    assert HashJudge and Numbers
    main(*sys.argv[1:])
