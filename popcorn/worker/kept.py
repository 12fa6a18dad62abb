"""Kept: references of a GPU, and the oracle, that the next evaluation of the same problem uses again. Runs in the parent; imports no torch.

A process is fresh so that nothing of a candidate's is in it, and so that a comparison is over several of them, since each has a bias of its own.
A reference's process never held a candidate, and an evaluation never takes one twice; so it may serve the next evaluation too, which saves
making a context, ending it, and loading the problem's kernels: a second of work a launch. It gives everything back but the context, and goes after some uses.
"""

import threading
from collections.abc import Callable, Collection
from typing import Any

from popcorn.worker.nursery import Child

_BYTES = 1 << 30
"""Device memory of one that rests: a context and the timer's buffers."""
_SHARE = 0.06
_MOST_USES = 20


def most_kept(memory_bytes: int | None) -> int:
    """How many may rest on a device of this much memory: a sixteenth of it."""
    return int(_SHARE * (memory_bytes or 0) / _BYTES)


class Kept:
    """Trusted processes of one problem, at rest."""

    def __init__(self, most: int, alive: Callable[[Child], bool]):
        self._most, self._alive = most, alive
        self._lock = threading.Lock()
        self._key: Any = None
        self._resting: list[Child] = []
        self._uses: dict[Child, int] = {}
        self._closed = False

    def take(self, key: Any, met: Collection[Child]) -> Child | None:
        """One of this problem that the evaluation has not `met`, or None. By the child itself: a process id is used again."""
        with self._lock:
            for child in self._resting if key == self._key else []:
                if child not in met and self._alive(child):
                    self._resting.remove(child)
                    return child
        return None

    def put(self, key: Any, child: Child) -> bool:
        """Keep a child that gave everything back. False where it is to be ended: too many, used up, or of another problem than the last."""
        with self._lock:
            uses = self._uses[child] = self._uses.get(child, 0) + 1
            wanted = key == self._key and len(self._resting) < self._most and uses < _MOST_USES
            if self._closed or child.rests or not wanted:  # who rests at a signal is a candidate, whatever it says
                del self._uses[child]
                return False
            self._resting.append(child)
            return True

    def begin(self, key: Any) -> list[Child]:
        """From here on those of this problem are kept; the others, to be ended."""
        with self._lock:
            if key == self._key:
                return []
            self._key, others, self._resting = key, self._resting, []
            self._uses.clear()
            return others

    def pids(self) -> tuple[int, ...]:
        """Process ids of those that rest."""
        with self._lock:
            return tuple(child.pid for child in self._resting)

    def drop(self) -> None:
        """Forget all: their zygote is gone, and they with it."""
        self.begin(None)

    def close(self) -> None:
        """Keep none from here on; those that rest end with the zygote."""
        with self._lock:
            self._closed = True
        self.drop()
