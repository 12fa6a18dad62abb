"""Lanes: a build lane of N workers, and one strict queue a device. Every piece of work knows how long it waited and how long it ran."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from popcorn.schema.record import Lane

T = TypeVar("T")


@dataclass
class Worked:
    """A result with its times in the lane."""

    result: object
    lane: Lane


@dataclass
class Usage:
    """What a lane has done so far."""

    jobs: int = 0
    queue_s: float = 0.0
    run_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, lane: Lane) -> None:
        with self._lock:
            self.jobs += 1
            self.queue_s += lane.queue_s
            self.run_s += lane.run_s


class WorkLane:
    """First in, first out, over `width` workers. With width 1 it is the device lane: one piece of work at a time, in arrival order."""

    def __init__(self, name: str, width: int):
        self.name = name
        self.usage = Usage()
        self._pool = ThreadPoolExecutor(max_workers=width, thread_name_prefix=name)

    def submit(self, work: Callable[[], T]) -> "Future[tuple[T, Lane]]":
        """A future of the result and its times. Exceptions of the work pass through the future."""
        arrived = time.monotonic()

        def run() -> tuple[T, Lane]:
            began = time.monotonic()
            try:
                return work(), self._done(arrived, began)
            except BaseException:
                self._done(arrived, began)
                raise

        return self._pool.submit(run)

    def run(self, work: Callable[[], T]) -> tuple[T, Lane]:
        """Submit and wait."""
        return self.submit(work).result()

    def close(self) -> None:
        """No new work; what waits is dropped, what runs is finished."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _done(self, arrived: float, began: float) -> Lane:
        lane = Lane(queue_s=began - arrived, run_s=time.monotonic() - began)
        self.usage.add(lane)
        return lane
