"""A limit of a process tree's memory where the kernel's own cannot be used: CUDA maps more addresses than any machine has memory. Linux; free of torch.

The parent looks five times a second and ends the tree that holds too much. Not seen: what a driver keeps for a process outside its resident pages.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from popcorn.worker.census import tree_of

EVERY_S = 0.2
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid: int) -> int:
    """Pages of memory that a process and all its descendants hold for themselves, without those of files."""
    total = 0
    for each in tree_of(pid):
        with contextlib.suppress(OSError, IndexError, ValueError):
            resident, shared = Path(f"/proc/{each}/statm").read_text().split()[1:3]
            total += max(0, int(resident) - int(shared)) * _PAGE_BYTES
    return total


class MemoryWatch:
    """Looks after one tree until it is told to stop; calls `end` once when the tree holds `limit_bytes` more than at the start."""

    def __init__(self, pid: int, limit_bytes: int, end: Callable[[], None]):
        self.limit_bytes = limit_bytes
        self.held_bytes: int | None = None
        """What it held when it was ended; None as long as it was not."""
        self._pid, self._end = pid, end
        self._start_bytes = resident_bytes(pid)
        self._stopped = threading.Event()
        threading.Thread(target=self._look, daemon=True, name="memory").start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _look(self) -> None:
        while not self._stopped.wait(EVERY_S):
            held_bytes = resident_bytes(self._pid) - self._start_bytes
            if held_bytes > self.limit_bytes:
                self.held_bytes = held_bytes
                self._end()
                return
