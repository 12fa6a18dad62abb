"""Between: work that goes on beside the evaluation while nothing is timed. Ended processes go, the next launch's come. Runs in the parent.

A process with much memory takes a twentieth of a second to end and as long to start, on a GPU several times that. Whoever times waits for
`settle` first: then nobody comes or goes.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from popcorn.worker.nursery import Child


class Between:
    """Processes that are on their way, out or in."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(8, "between")
        self._lock = threading.Lock()
        self._going: list[Future[None]] = []
        self._coming: dict[str, list[Future[Child]]] = {}

    def let_go(self, *children: Child) -> None:
        """End these children; returns at once."""
        for child in children:
            self.part(child.kill)

    def part(self, act: Callable[[], None]) -> None:
        """Somebody's way out, whatever it is; returns at once."""
        self._going.append(self._pool.submit(act))

    def bring(self, kind: str, start: Callable[[], Child]) -> None:
        """Start a child that `take` of this kind will ask for; returns at once."""
        with self._lock:
            self._coming.setdefault(kind, []).append(self._pool.submit(start))

    def take(self, kind: str) -> Child | None:
        """A child that was brought, once it is here, or None. Raises what its start raised."""
        with self._lock:
            waiting = self._coming.get(kind)
            brought = waiting.pop(0) if waiting else None
        return brought.result() if brought is not None else None

    def waits(self, kind: str) -> bool:
        """Whether a child of this kind is here or on its way, for nobody yet."""
        with self._lock:
            return bool(self._coming.get(kind))

    def run(self, act: Callable[[], Any]) -> "Future[Any]":
        """Something else beside the evaluation; who asked waits for it."""
        return self._pool.submit(act)

    def settle(self) -> None:
        """Wait until those who go are gone and those who come are here."""
        with self._lock:
            coming = [future for waiting in self._coming.values() for future in waiting]
        wait(coming)
        while self._going:
            self._going.pop().result()

    def close(self) -> None:
        """Wait for all; nothing is brought after this. A child that nobody took is the session's to end."""
        self._pool.shutdown(wait=True)
