"""Cold caches on a CPU: a buffer to read, of twice the last-level cache, or as much of that as it takes here. Needs torch.

A virtual machine is told the cache of the whole processor and gets a share of it that changes with its neighbours: of 480 MB on one, now a tenth, now nearly all. Reading twice what is told
takes 100 ms before each block there, and most of the time 128 MB leave little more. What is left is asked of a probe, whose lines are looked up in random order: a few times slower once
they are gone.
"""

import contextlib
import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from popcorn.devices.host import memory_bytes, one_last_level_cache

SURE_BYTES = 128 << 20
"""Up to so many bytes are read without asking whether fewer would do."""
_PROBE_BYTES, _LINE_BYTES = 8 << 20, 64
_TRIES = 3
_GONE, _BACK = 0.5, 0.3
"""Shares of what looking lines up takes after reading everything: from the one on most are gone, below the other most are there again. Apart, since the one time may be of a busy
moment and the other of a quiet one."""
_MOST_OF_MEMORY = 0.25
"""Share of the memory that is free."""

# this thread's own time: who takes the core meanwhile says nothing about the cache
_clock_ns = time.thread_time_ns


class Evictor:
    """A buffer, and how much of it is read."""

    def __init__(self, most_bytes: int):
        import psutil

        free_bytes = min(psutil.virtual_memory().available, memory_bytes() or most_bytes * 8)
        self.bytes = min(most_bytes, max(SURE_BYTES, int(_MOST_OF_MEMORY * free_bytes)))
        """How much is read."""
        self._whole = _filled(self.bytes)
        self._enough = self.bytes
        """What was enough when this began."""
        self._shared = one_last_level_cache()
        self._gone_ns = 0
        """Least time of a probe after everything was read, where it was asked."""
        if self.bytes > SURE_BYTES:
            self._find_enough()

    def read(self) -> None:
        """Next to nothing that lay in the cache is left in it. Read only, so that no line is dirty."""
        import torch

        part = self._part(self.bytes)
        if self.bytes <= SURE_BYTES or torch.get_num_threads() > 1 or not self._shared:
            part.sum()
            return
        # one core's way to memory is the limit: another one that shares the cache, idle now, takes half
        with ThreadPoolExecutor(1) as beside:
            half = beside.submit(_sum_anywhere, part[: part.numel() // 2])
            part[part.numel() // 2 :].sum()
            half.result()

    def look(self) -> None:
        """Is it still enough, or again? Neighbours that had much of the cache may have left it, or come. Else everything is read until the next look."""
        if self._enough < self._whole.nbytes:
            share = _Probe().least_ns(self._part(self._enough)) / self._gone_ns
            self.bytes = self._whole.nbytes if share < _BACK else self._enough if share >= _GONE else self.bytes

    def _find_enough(self) -> None:
        """Twice the least after which looking lines up takes at least half of what it takes after reading everything."""
        probe, part_bytes = _Probe(), SURE_BYTES // 2
        self._gone_ns = probe.least_ns(self._whole)
        while 2 * part_bytes < self._whole.nbytes:
            if probe.least_ns(self._part(part_bytes)) >= _GONE * self._gone_ns:
                self.bytes = self._enough = 2 * part_bytes
                return
            part_bytes *= 2

    def _part(self, size_bytes: int) -> Any:
        return self._whole[: size_bytes // self._whole.itemsize]


def _filled(size_bytes: int) -> Any:
    """Small pages of its own. Read through large ones, it would leave the processor's table of pages as it was: whoever's pages were there last would be quicker, by a tenth."""
    import torch

    pages = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE)
    with contextlib.suppress(OSError):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(pages, dtype=torch.float32).fill_(1.0)


def _sum_anywhere(part: Any) -> None:
    """On any core of the machine, not on the one that whoever asks is pinned to."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # of this thread alone
    part.sum()


class _Probe:
    """Lines that are in the cache before something is read, and after it or not."""

    def __init__(self) -> None:
        import torch

        generator = torch.Generator().manual_seed(0)
        self._values = torch.ones(_PROBE_BYTES // 4)
        self._places = torch.randperm(_PROBE_BYTES // _LINE_BYTES, generator=generator) * (_LINE_BYTES // 4)

    def least_ns(self, buffer: Any) -> int:
        """Nanoseconds of looking all lines up after a buffer was read, or nothing (None): the least of some, since others only ever make it longer."""
        return min(self._after(buffer) for _ in range(_TRIES))

    def _after(self, buffer: Any) -> int:
        self._values[self._places]
        if buffer is not None:
            buffer.sum()
        began = _clock_ns()
        self._values[self._places]
        return max(1, _clock_ns() - began)
