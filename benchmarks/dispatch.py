"""What does a call of an op cost over calling the implementation directly? Microseconds a call, on the CPU, in one process.

    python benchmarks/dispatch.py [--op rms_norm] [--calls 20000] [--repeats 15]

Three ways to the same function take turns: directly, through the op, through `specialize`. Tensors are tiny, so that the calls' own
time is small beside the way there. The overhead is the median over repeats of the difference to the direct call of the same repeat.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import torch

from popcorn.devices.probe import probe
from popcorn.ops.registry import FirstAccepting, find_op


def time_calls(function: Callable[..., Any], args: list[Any], calls: int) -> float:
    """Microseconds a call."""
    began = time.perf_counter()
    for _ in range(calls):
        function(*args)
    return (time.perf_counter() - began) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", default="rms_norm")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    op = find_op(options.op).load()
    op.chooser = FirstAccepting()  # which implementation is no matter here: a remembered choice costs the same
    args = op.make_inputs({name: 8 for name in op.signature.dims})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ways = {"direct": op.specialize(*args), "op": op, "specialize": op.specialize(*args)}
        for way in ways.values():
            time_calls(way, args, 2000)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(options.repeats):
        order = list(ways) if repeat % 2 == 0 else list(reversed(ways))
        for name in order:
            taken[name].append(time_calls(ways[name], args, options.calls))
    machine = probe("cpu")
    print(f"{machine.device_name}, torch {machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    print(f"{options.op}: direct {statistics.median(taken['direct']):.2f} µs a call")
    for name in ("op", "specialize"):
        over = sorted(a - b for a, b in zip(taken[name], taken["direct"], strict=True))
        print(f"{name:10} adds {statistics.median(over):6.2f} µs (quartiles {over[len(over) // 4]:.2f} to {over[3 * len(over) // 4]:.2f})")


if __name__ == "__main__":
    main()
