"""Spares: forked processes that hold a GPU's context and have no role yet. Runs in the parent; imports no torch.

A context takes an eighth of a second to make, and the driver makes one after another however many ask: of a launch's three processes the last
waits for all. A spare has done that before anybody needs it. It has seen no problem and no candidate, so whoever takes it is as fresh as from a fork.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from popcorn.worker.nursery import Child

CONTEXT_BYTES = 600 << 20
"""Device memory of a context, with torch's own."""
_SHARE = 0.06
_MOST = 13
"""An oracle, a candidate's trials, three launches of three processes, and two that count."""


def most_spares(memory_bytes: int | None) -> int:
    """How many of them a device of this much memory may hold: at most a sixteenth of it, at least two."""
    return max(2, min(_MOST, int(_SHARE * (memory_bytes or 0) / CONTEXT_BYTES)))


class Spares:
    """Processes in waiting, made in the background where nobody times anything."""

    def __init__(self, make: Callable[[], Child], most: int):
        self._make, self._most = make, most
        self._pool = ThreadPoolExecutor(2, "spares")
        self._lock = threading.Lock()
        self._coming: deque[Future[Child]] = deque()
        self._closed = False

    def refill(self) -> None:
        """Have as many as there may be; returns at once."""
        with self._lock:
            while not self._closed and len(self._coming) < self._most:
                self._coming.append(self._pool.submit(self._make))

    def take(self) -> Child | None:
        """One of them, once it is here; None where there is none, or where the making failed: whoever starts anew is told why."""
        with self._lock:
            one = self._coming.popleft() if self._coming else None
        try:
            return one.result() if one is not None else None
        except Exception:  # the zygote is gone, or the device has no room: the ordinary start says so in its own words
            return None

    def settle(self) -> None:
        """Until none is on the way: nobody comes while something is timed."""
        with self._lock:
            coming = list(self._coming)
        wait(coming)

    def pids(self) -> tuple[int, ...]:
        """Process ids of those that wait."""
        with self._lock:
            here = [one for one in self._coming if one.done() and one.exception() is None]
        return tuple(one.result().pid for one in here)

    def drop(self) -> None:
        """Forget all of them: their zygote is gone, and they with it."""
        with self._lock:
            self._coming.clear()

    def close(self) -> None:
        """No more of them; those that are here end with the zygote."""
        with self._lock:
            self._closed = True
            self._coming.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
