"""Spares: forked processes that hold a GPU's context and have no role yet. Runs in the parent; imports no torch.

A context takes an eighth of a second to make, and the driver makes one after another however many ask: of a launch's three processes the last
waits for all. A spare has done that before anybody needs it. It has seen no problem and no candidate, so whoever takes it is as fresh as from a fork.
"""

import threading
from collections import deque
from collections.abc import Callable

from popcorn.worker.nursery import Child

CONTEXT_BYTES = 600 << 20
"""Device memory of a context, with torch's own."""
_SHARE = 0.06
_MOST = 13
"""An oracle, a candidate's trials, three launches of three processes, and two that count."""
_MAKERS = 2


def most_spares(memory_bytes: int | None) -> int:
    """How many of them a device of this much memory may hold: at most a sixteenth of it."""
    return min(_MOST, int(_SHARE * (memory_bytes or 0) / CONTEXT_BYTES))


class Spares:
    """Processes in waiting, made in the background from `resume` to `rest`, while nobody times anything."""

    def __init__(self, make: Callable[[], Child], most: int):
        self._make, self._most = make, most
        self._changed = threading.Condition()
        self._ready: deque[Child] = deque()
        self._making = 0
        self._resting, self._closed = True, False
        self._generation = 0
        for _ in range(_MAKERS):
            threading.Thread(target=self._work, daemon=True, name="spares").start()

    def resume(self) -> None:
        """Make until there are as many as there may be; returns at once."""
        with self._changed:
            self._resting = False
            self._changed.notify_all()

    def rest(self) -> None:
        """Make no more until `resume`; returns at once."""
        with self._changed:
            self._resting = True

    def settle(self) -> None:
        """The same, and return when none is on the way: nobody comes while something is timed."""
        self.rest()
        with self._changed:
            self._changed.wait_for(lambda: not self._making)

    def take(self) -> Child | None:
        """One of them, waited for where it is on its way; None where there is none: whoever starts anew is told what is wrong."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or not self._making)
            taken = self._ready.popleft() if self._ready else None
            self._changed.notify_all()
            return taken

    def pids(self) -> tuple[int, ...]:
        """Process ids of those that wait."""
        with self._changed:
            return tuple(child.pid for child in self._ready)

    def drop(self) -> None:
        """Forget all of them: their zygote is gone, and they with it."""
        with self._changed:
            self._generation += 1
            self._ready.clear()
            self._changed.notify_all()

    def renew(self) -> None:
        """End those that wait: what the zygote has learned since they do not know."""
        with self._changed:
            self._generation += 1
            old = list(self._ready)
            self._ready.clear()
            self._changed.notify_all()
        for child in old:
            child.kill()

    def close(self) -> None:
        """No more of them; those that are here end with the zygote."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.drop()

    def _wanted(self) -> bool:
        return not self._resting and len(self._ready) + self._making < self._most

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted())
                if self._closed:
                    return
                self._making += 1
                generation = self._generation
                self._changed.notify_all()
            made: Child | None = None
            try:
                made = self._make()
            except Exception:  # the zygote is gone, or the device has no room: who starts anew says so in its own words
                made = None
            with self._changed:
                self._making -= 1
                if made is not None and generation == self._generation and not self._closed:
                    self._ready.append(made)
                    made = None
                elif made is None:
                    self._resting = True  # until somebody asks again
                self._changed.notify_all()
            if made is not None:
                made.kill()
