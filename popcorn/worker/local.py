"""The local engine: one device of this machine, always there. Requests wait in its lanes, in the order they came."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from popcorn.schema.record import Record
from popcorn.worker.bench import Bench
from popcorn.worker.building import Built, build_candidate
from popcorn.worker.request import Request


class LocalEngine:
    """An Engine over one bench. `evaluate` is the main path, handed in because it lies above this layer.

    Up to `width` requests are under way at once: they build side by side, and take turns on the device one after another.
    """

    def __init__(self, bench: Bench, evaluate: Callable[[Request, Bench], Record], width: int = 4):
        self.bench = bench
        self._evaluate = evaluate
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="request")

    def submit(self, request: Request) -> "Future[Record]":
        """The evaluation's future; PopcornError passes through it."""
        return self._pool.submit(self._evaluate, request, self.bench)

    def build(self, request: Request) -> "Future[Built]":
        """The build's future; PopcornError passes through it."""
        return self._pool.submit(build_candidate, request, self.bench)

    def close(self) -> None:
        """Drops what waits, lets what runs finish, ends the bench and its processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.bench.close()
