"""Cold caches on a CPU: a buffer to read, of twice the last-level cache, or as much of that as it takes here. Needs torch.

A virtual machine is told the cache of the whole processor and gets a share of it: of 480 MB on one, about 64. Reading twice what is told took 80 ms before each block there, and reading
128 MB leaves little more. What is left is asked of a probe, whose lines are looked up in random order: a few times slower once they are gone.
"""

import mmap
import time
from typing import Any

SURE_BYTES = 128 << 20
"""Up to so many bytes are read without asking whether fewer would do."""
_PROBE_BYTES, _LINE_BYTES = 8 << 20, 64
_TRIES = 3
_GONE, _BACK = 0.5, 0.3
"""Shares of what looking lines up takes after reading everything: from the one on most are gone, below the other most are there again. Apart, since the one time may be of a busy
moment and the other of a quiet one."""

# this thread's own time: who takes the core meanwhile says nothing about the cache
_clock_ns = time.thread_time_ns


class Evictor:
    """Pages that are only read, and so stay shared by all forks of who made them."""

    def __init__(self, most_bytes: int):
        self.most_bytes = most_bytes
        self._gone_ns = 0
        """Least time of a probe after everything was read, where it was asked."""
        self._buffer = _filled(self._enough() if most_bytes > SURE_BYTES else most_bytes)

    @property
    def bytes(self) -> int:
        """How much is read."""
        return int(self._buffer.nbytes)

    def read(self) -> None:
        """Next to nothing that lay in the cache is left in it. Read only, so that no line is dirty."""
        self._buffer.sum()

    def look(self) -> None:
        """Is it still enough? Neighbours that had much of the cache may have left it. Else the whole is read from here on."""
        if self.bytes < self.most_bytes and _Probe().least_ns(self._buffer) < _BACK * self._gone_ns:
            self._buffer = _filled(self.most_bytes)

    def _enough(self) -> int:
        """Bytes to read: twice the least after which looking lines up takes at least half of what it takes after reading everything."""
        probe, everything = _Probe(), _filled(self.most_bytes)
        self._gone_ns = probe.least_ns(everything)
        part_bytes = SURE_BYTES // 2
        while 2 * part_bytes < self.most_bytes:
            if probe.least_ns(everything[: part_bytes // everything.itemsize]) >= _GONE * self._gone_ns:
                break
            part_bytes *= 2
        return min(2 * part_bytes, self.most_bytes)


def _filled(size_bytes: int) -> Any:
    """Pages of its own, which go with it; those of the heap would stay, and be copied into every fork."""
    import torch

    return torch.frombuffer(mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE), dtype=torch.float32).fill_(1.0)


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
