"""Cold caches on a CPU: a buffer to read, of twice the last-level cache, or as much of that as it takes here. Needs torch.

A virtual machine is told the cache of the whole processor and gets a share of it: of 480 MB on one, about 64. Reading twice what is told took 80 ms before each block there, and reading
128 MB leaves as little. What is left is asked of a probe, whose lines are looked up in random order: a few times slower once they are gone.
"""

import mmap
import statistics
import time
from typing import Any

SURE_BYTES = 128 << 20
"""Up to so many bytes are read without asking whether fewer would do."""
_PROBE_BYTES, _LINE_BYTES = 8 << 20, 64
_PAIRS = 3
_GONE = 0.7
"""Lines are gone that take this share of the time, or more, that they take after a longer reading."""
_THERE = 1.5
"""Most are still there where looking them up takes no more than so many times what it takes at once."""

# this thread's own time: who takes the core meanwhile says nothing about the cache
_clock_ns = time.thread_time_ns


class Evictor:
    """Pages that are only read, and so stay shared by all forks of who made them."""

    def __init__(self, most_bytes: int):
        self.most_bytes = most_bytes
        self._buffer = _filled(self._enough() if most_bytes > SURE_BYTES else most_bytes)

    @property
    def bytes(self) -> int:
        """How much is read."""
        return int(self._buffer.nbytes)

    def read(self) -> None:
        """Nothing that lay in the cache is left in it. Read only, so that no line is dirty."""
        self._buffer.sum()

    def look(self) -> None:
        """Is it still enough? Neighbours that had much of the cache may have left it. Else the whole is read from here on."""
        if self.bytes == self.most_bytes:
            return
        probe = _Probe()
        if all(probe.survives(self._buffer) for _ in range(2)):  # a disturbed look says so, too
            self._buffer = _filled(self.most_bytes)

    def _enough(self) -> int:
        """Bytes to read: twice as many as leave nothing of the probe, where four times as many leave no less."""
        probe, enough = _Probe(), SURE_BYTES // 2
        while 2 * enough < self.most_bytes:
            more = _filled(min(4 * enough, self.most_bytes))
            part = more[: enough // 4]
            if not probe.survives(part) and probe.share_of(part, more) >= _GONE:
                return 2 * enough
            enough *= 2
        return self.most_bytes


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

    def share_of(self, some: Any, more: Any) -> float:
        """Time of looking the lines up after one buffer was read, as a share of that after the other; in pairs, since others slow now the one, now the other."""
        return statistics.median(self._after(some) / self._after(more) for _ in range(_PAIRS))

    def survives(self, buffer: Any) -> bool:
        """Whether most of the lines are still there after a buffer was read."""
        at_once = min(self._after(None) for _ in range(_PAIRS))
        return self._after(buffer) < _THERE * at_once

    def _after(self, buffer: Any) -> int:
        """Nanoseconds of looking all lines up after a buffer was read, or nothing (None)."""
        self._values[self._places]
        if buffer is not None:
            buffer.sum()
        began = _clock_ns()
        self._values[self._places]
        return max(1, _clock_ns() - began)
