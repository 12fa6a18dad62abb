"""Lanes: a build lane of N workers, and one strict queue a device. Every piece of work knows how long it waited and how long it ran."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from popcorn.schema.record import Lane

T = TypeVar("T")


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
    """First in, first out, over `width` workers. With width 1 it is the device lane: one piece of work at a time, in arrival order.

    A `lock` file makes the lane the only one of its kind on the machine: two processes never measure on one device at once.
    """

    def __init__(self, name: str, width: int, lock: Path | None = None):
        self.name = name
        self._lock_path = lock
        self._held = False
        self.usage = Usage()
        self._pool = ThreadPoolExecutor(max_workers=width, thread_name_prefix=name)

    def submit(self, work: Callable[[], T], waiting: Callable[[str], None] = lambda holder: None) -> "Future[tuple[T, Lane]]":
        """A future of the result and its times. Exceptions of the work pass through the future, with their times as `lane`. `waiting` is called
        with who that is when another process has the device."""
        arrived = time.monotonic()

        def run() -> tuple[T, Lane]:
            with self._whole_machine(waiting):
                began = time.monotonic()
                try:
                    return work(), self._done(arrived, began)
                except Exception as error:
                    error.lane = self._done(arrived, began)  # type: ignore[attr-defined]
                    raise

        return self._pool.submit(run)

    def run(self, work: Callable[[], T], waiting: Callable[[str], None] = lambda holder: None) -> tuple[T, Lane]:
        """Submit and wait."""
        return self.submit(work, waiting).result()

    def close(self) -> None:
        """No new work; what waits is dropped, what runs is finished."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _whole_machine(self, waiting: Callable[[str], None]) -> Iterator[None]:
        """Waits for other processes of Popcorn that use the same device; the wait counts as queue."""
        if self._lock_path is None:
            yield
            return
        handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting(_holder(handle))
                fcntl.flock(handle, fcntl.LOCK_EX)
            self._held = True
            with contextlib.suppress(OSError):  # for whoever waits
                os.pwrite(handle, f"{os.getpid():<20}".encode(), 0)
            yield
        finally:
            self._held = False
            os.close(handle)

    @contextmanager
    def between_works(self) -> Iterator[bool]:
        """Whether no other process works in this lane now; while this lasts none begins. For what is prepared for the next piece of work."""
        if self._lock_path is None or self._held:
            yield True
            return
        handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            yield False
            return
        try:
            yield True
        finally:
            os.close(handle)

    def _done(self, arrived: float, began: float) -> Lane:
        lane = Lane(queue_s=began - arrived, run_s=time.monotonic() - began)
        self.usage.add(lane)
        return lane


def _holder(handle: int) -> str:
    """Who wrote its number into a lock file, in words."""
    with contextlib.suppress(OSError):
        number = os.pread(handle, 20, 0).decode(errors="replace").strip()
        if number.isdigit():
            return f"another Popcorn, process {number},"
    return "another Popcorn"
