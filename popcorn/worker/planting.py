"""The planted slowdown of the control: a wait of known length after a call, on the same device. Needs torch.

On a GPU the wait is a kernel of its own behind the call's. Starting one takes a microsecond or two after the last: that is measured, and part of the wait.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import torch

_STARTS = 50
_BUSY_CYCLES = 2_000_000
"""A millisecond, in which the host issues all of them."""


def slowed(call: Callable[[], Any], extra_s: float, device: torch.device) -> Callable[[], Any]:
    """The call, then a wait of `extra_s` seconds on `device`."""
    if device.type == "cuda":
        per_s, start_s = _cycles_per_s(), _start_s()
        cycles = max(1, int((extra_s - start_s) * per_s))

        def run_cuda() -> Any:
            result = call()
            torch.cuda._sleep(cycles)
            return result

        return run_cuda

    def run() -> Any:
        result = call()
        end = time.perf_counter_ns() + int(extra_s * 1e9)
        while time.perf_counter_ns() < end:
            pass
        return result

    return run


@functools.cache
def _cycles_per_s() -> float:
    """Cycles of torch.cuda._sleep in a second, measured: it counts the multiprocessor's clock, which varies."""
    cycles = 20_000_000
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(cycles)
    start.record()
    torch.cuda._sleep(cycles)
    stop.record()
    torch.cuda.synchronize()
    return cycles / (start.elapsed_time(stop) * 1e-3)


@functools.cache
def _start_s() -> float:
    """Seconds of a wait of nothing behind another kernel, of many in a row that were issued while the device was busy."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(_BUSY_CYCLES)
    start.record()
    for _ in range(_STARTS):
        torch.cuda._sleep(1)
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) * 1e-3 / _STARTS
