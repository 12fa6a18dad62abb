"""The planted slowdown of the control: a wait of known length after a call, on the same device. Needs torch."""

import functools
import time
from collections.abc import Callable
from typing import Any

import torch


def slowed(call: Callable[[], Any], extra_s: float, device: torch.device) -> Callable[[], Any]:
    """The call, then a wait of `extra_s` seconds on `device`."""
    if device.type == "cuda":
        cycles = int(extra_s * _cycles_per_s())

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
