"""Timing instruments: calls in, seconds per call out. They know no problem and no process. Needs torch for CUDA only."""

import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from popcorn.measure.evicting import Evictor

Call = Callable[[], Any]

WINDOW_S = 1e-3
"""Shortest window of a CPU clock: 1 ms is thousands of its steps."""

_LEAST_HIDDEN, _MOST_HIDDEN = 200_000, 10_000_000
"""Cycles for which a GPU is kept busy while the host issues a call: 0.1 to 5 ms at 2 GHz."""
_KNOWN, _LOOKS, _MOST_BUBBLE_S = 30, 41, 5e-6
"""Further kernels by which the bubble is found, how often it is looked at; no more than this is ever taken for one."""
_RISE_S = 0.2
"""Until a GPU's clock is up."""
_TOGETHER = 10
"""Warm calls issued behind one wait."""
_PERSISTING_L2 = 0x06
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE of the driver's interface."""
DISTURBED = 0.02
"""A window in which the process waited for a core for more than this share of it says more about the machine than about the call."""

# bound at import: candidate code that patches the time module later changes nothing here
_clock_ns = time.perf_counter_ns


@dataclass(frozen=True)
class WarmTimes:
    """One subject called again and again with the same inputs."""

    time_s: float
    """Median time per call, caches warm."""
    host_s: float
    """Median time until the call returned to the host."""
    host_mean_s: float
    """Mean of the same: what a row of calls takes the host, seldom long ones and all."""
    calls: int
    """Calls made."""


class CpuTimer:
    """perf_counter around windows of calls on this thread's process."""

    name = "perf_counter"

    def __init__(self, cache_bytes: int):
        self._cache_bytes = cache_bytes
        self._evictor: Evictor | None = None
        self.evicted = False
        """True where somebody else on the same cores evicts before each `time`: then nothing is left to do here."""

    def evict(self, look: bool = False) -> None:
        """Cold caches: nothing of the inputs survives in them. With a `look` at whether as much is read as it takes now."""
        if self._evictor is None:
            self._evictor = Evictor(2 * self._cache_bytes)
        elif look:
            self._evictor.look()
        self._evictor.read()

    def time(self, windows: Sequence[Sequence[Call]], keep: Callable[[int, Any], None]) -> list[float]:
        """Seconds per call of each window. `keep(i, result)` takes the i-th result, outside the window.

        Windows in which the process had to wait for a core are left out, unless all were.
        """
        samples, delays, index = [], [], 0
        if not self.evicted:
            self.evict()
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            for window in windows:
                results: list[Any] = [None] * len(window)
                waited = waiting_ns()
                start = _clock_ns()
                for i, call in enumerate(window):
                    results[i] = call()
                stop = _clock_ns()
                samples.append((stop - start) * 1e-9 / len(window))
                delays.append((waiting_ns() - waited) / (stop - start))
                for result in results:
                    keep(index, result)
                    index += 1
        finally:
            if was_enabled:
                gc.enable()
        return [sample for sample, delay in zip(samples, delays, strict=True) if delay <= DISTURBED] or samples

    def time_warm(self, call: Call, seconds: float) -> WarmTimes:
        """Median of at least three windows ≥ 1 ms with the same inputs."""
        call()
        start = _clock_ns()
        call()
        once = max(1, _clock_ns() - start) * 1e-9
        per_window = max(1, round(WINDOW_S / once))
        times = [once] if once >= WINDOW_S else []
        end = _clock_ns() + int(seconds * 1e9)
        while len(times) < 3 or (_clock_ns() < end and len(times) < 1000):
            start = _clock_ns()
            for _ in range(per_window):
                call()
            times.append((_clock_ns() - start) * 1e-9 / per_window)
        middle = sorted(times)[len(times) // 2]
        return WarmTimes(middle, middle, sum(times) / len(times), per_window * len(times))

    def synchronize(self) -> None:
        """Nothing is asynchronous here."""


class CudaTimer:
    """CUDA events around each call behind an L2 flush and a wait that hides the host's launch time. What these add to any kernel, their bubble, is measured
    and taken off."""

    name = "cuda events"

    def __init__(self, cache_bytes: int):
        import torch

        self._torch = torch
        count = max(1, 2 * cache_bytes // 4)
        self._written = torch.zeros(count, dtype=torch.float32, device="cuda")
        self._read = torch.zeros(count, dtype=torch.float32, device="cuda")
        self._sink = torch.zeros((), dtype=torch.float32, device="cuda")
        self._sleep = torch.cuda._sleep
        torch.cuda.synchronize()
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuCtxSetLimit(_PERSISTING_L2, ctypes.c_size_t(0))
        self._reset_persisting = driver.cuCtxResetPersistingL2Cache
        self._event = torch.cuda.Event
        self._elapsed = torch.cuda.Event.elapsed_time
        self._record = torch.cuda.Event.record
        self._passed = torch.cuda.Event.query
        self._sync = torch.cuda.synchronize
        self._hide_cycles = _LEAST_HIDDEN
        self.bubble_s: float | None = None
        """What to take off; found out here where nobody says."""

    def evict(self) -> None:
        """A write, then a read of twice the L2 on the stream, before the window opens. The read comes last: lines left dirty by the write
        would be written back inside the window, at the call's expense. Lines that a call made persistent would survive both: they are reset."""
        self._reset_persisting()
        self._written.fill_(1.0)
        self._torch.sum(self._read, dim=0, out=self._sink)

    def synchronize(self) -> None:
        """Waits for every stream of the device."""
        self._sync()

    def _watch(self, passed: Any) -> Callable[[], bool]:
        """Record an event before a call. Asked once the call is issued, the answer says whether that came too late: the device had to wait for the host.
        The next one is hidden twice as long then."""
        self._record(passed)

        def late() -> bool:
            if not self._passed(passed):
                return False
            self._hide_cycles = min(_MOST_HIDDEN, 2 * self._hide_cycles)
            return True

        return late

    def time(self, windows: Sequence[Sequence[Call]], keep: Callable[[int, Any], None]) -> list[float]:
        """Device seconds of each call, cold L2. Each window holds one call. Those that the device had to wait for are left out where they
        are no more than half."""
        calls = [call for window in windows for call in window]
        pairs = [(self._event(enable_timing=True), self._event(enable_timing=True)) for _ in calls]
        late = []
        self._sync()
        gc.disable()
        try:
            for index, (call, (start, stop)) in enumerate(zip(calls, pairs, strict=True)):
                self.evict()
                self._sleep(self._hide_cycles)
                waited = self._watch(start)
                result = call()
                self._record(stop)
                late.append(waited())
                keep(index, result)
            self._sync()
        finally:
            gc.enable()
        return _in_time([self._between(start, stop) for start, stop in pairs], late)

    def _between(self, start: Any, stop: Any) -> float:
        """Seconds of what lies between two events."""
        if self.bubble_s is None:
            event_bubble_s(self)
        return max(1e-9, self._elapsed(start, stop) * 1e-3 - self.bubble_s)

    def time_warm(self, call: Call, seconds: float) -> WarmTimes:
        """Median device time of calls behind each other without a flush, and median host time to issue one. Some calls at a time wait behind one
        sleep, as in `time`: what the host takes is in its own figure alone. The bubble, once for a row, is that of cold calls, half a microsecond more than these have."""
        call()
        self._sync()
        start = _clock_ns()
        call()
        self._sync()
        once = max(1, _clock_ns() - start) * 1e-9
        together = max(1, min(_TOGETHER, int(seconds / (4 * once))))
        times: list[float] = []
        hosts: list[float] = []
        late: list[bool] = []
        end = _clock_ns() + int(seconds * 1e9)
        while len(times) < 3 or (_clock_ns() < end and len(times) < 100):
            begin, stop = self._event(enable_timing=True), self._event(enable_timing=True)
            self._sleep(min(_MOST_HIDDEN, together * self._hide_cycles))
            waited = self._watch(begin)
            for _ in range(together):
                start = _clock_ns()
                call()
                hosts.append((_clock_ns() - start) * 1e-9)
            self._record(stop)
            late.append(waited())
            self._sync()
            times.append(self._between(begin, stop) / together)
        kept, issued = sorted(_in_time(times, late)), sorted(hosts)
        # three times what the host takes in nine of ten calls, at 2 GHz, for the next cold windows
        self._hide_cycles = int(min(_MOST_HIDDEN, max(_LEAST_HIDDEN, 3 * issued[len(issued) * 9 // 10] * 2e9)))
        return WarmTimes(kept[len(kept) // 2], issued[len(issued) // 2], sum(hosts) / len(hosts), len(hosts))


def _in_time(samples: list[float], late: list[bool]) -> list[float]:
    """Those that were not late, or all where more than half were: the host is the slower one then, or the wait too short still."""
    kept = [sample for sample, was in zip(samples, late, strict=True) if not was]
    return kept if 2 * len(kept) >= len(samples) else samples


def event_bubble_s(timer: CudaTimer) -> float:
    """What the instrument adds to any kernel: events, and caches that hold none of its instructions. A known kernel, torch's fill of one element, alone
    between events behind an eviction, less what a further one adds to a stream of them. A device's own: who compares processes gives all of them the same."""
    import torch

    one = torch.zeros(1, device="cuda")

    def took_s(kernels: int) -> float:
        def call() -> None:
            for _ in range(kernels):
                one.fill_(1.0)

        return statistics.median(timer.time([[call]] * _LOOKS, lambda index, result: None))

    timer.bubble_s = 0.0
    timer.time_warm(lambda: one.fill_(1.0), _RISE_S)
    found = _MOST_BUBBLE_S
    for _ in range(3):  # whatever disturbs one makes it larger, and every later time shorter
        alone_s, many_s = took_s(1), took_s(1 + _KNOWN)
        found = min(found, max(0.0, alone_s - (many_s - alone_s) / _KNOWN))
    timer.bubble_s = found
    return found


def waiting_ns() -> int:
    """Nanoseconds that this process's threads have waited for a core while they could have run, so far (schedstat; 0 where there is none)."""
    total = 0
    for task in os.scandir("/proc/self/task"):
        try:
            with open(f"{task.path}/schedstat", "rb") as file:  # noqa: PTH123 - a hot path, and pathlib costs more than the read
                total += int(file.read().split()[1])
        except (OSError, IndexError):
            continue
    return total


def make_timer(device: str, cache_bytes: int) -> CpuTimer | CudaTimer:
    """The timer of a device kind; `cache_bytes` is the cache that must be evicted."""
    return CudaTimer(cache_bytes) if device.startswith("cuda") else CpuTimer(cache_bytes)
