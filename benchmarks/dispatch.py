"""What does a call of an op cost over calling the implementation directly? Microseconds a call, on the CPU, in one process.

    python benchmarks/dispatch.py [--op rms_norm] [--calls 20000] [--repeats 15] [--other PYTHON]

Three ways to the same function take turns: directly, through the op, through `specialize`. Tensors are tiny, so that the calls' own
time is small beside the way there; times are of the processor, so that others on the machine matter less. The overhead is the median over repeats of the difference to the direct call of the same repeat.

`--other` is the Python of an environment with the package `popcorn` of PyPI (Tilde Research's; it cannot stand beside this one, whose import
name it shares). Its op of the same name takes turns with ours, in a process that stays, on tensors of the same sizes. To make one:

    python -m venv ENV && ENV/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu && ENV/bin/pip install popcorn==0.1.1
"""

import argparse
import json
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import torch

from popcorn.devices.probe import probe
from popcorn.ops.registry import FirstAccepting, find_op

OTHER = """
import json, sys, time
import torch, popcorn.kernels
from importlib.metadata import version
asked = json.loads(sys.argv[1])
torch.set_num_threads(1)
op = getattr(popcorn.kernels, asked["op"])
args = [torch.randn(shape) for shape in asked["shapes"]]
ways = {"direct": op.reference, "op": op}
for way in ways.values():
    for _ in range(2000):
        way(*args)
print(json.dumps([version("popcorn"), torch.__version__]), flush=True)
for line in sys.stdin:
    taken = {}
    for name in (ways if line.strip() == "forward" else reversed(ways)):
        began = time.process_time()
        for _ in range(asked["calls"]):
            ways[name](*args)
        taken[name] = (time.process_time() - began) / asked["calls"] * 1e6
    print(json.dumps(taken), flush=True)
"""
"""What the other package's process runs: for every line that it reads, microseconds a call of its reference and through its op."""


class Other:
    """The other package, one measurement at a time."""

    def __init__(self, python: str, op: str, shapes: list[list[int]], calls: int) -> None:
        told = json.dumps({"op": op, "shapes": shapes, "calls": calls})
        # isolated: this folder's own package has the same name
        self.process = subprocess.Popen([python, "-I", "-c", OTHER, told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        first = self.process.stdout.readline()
        if not first:
            raise SystemExit(f"{python} could not run popcorn's {op}: {self.process.communicate()[1].strip().splitlines()[-1:]}")
        self.version, self.torch = json.loads(first)

    def measure(self, order: str) -> dict[str, float]:
        """Microseconds a call of each way."""
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def told(name: str, taken: list[float], direct: list[float]) -> str:
    """One line: what a way adds."""
    over = sorted(a - b for a, b in zip(taken, direct, strict=True))
    return f"{name:10} adds {statistics.median(over):6.2f} µs (quartiles {over[len(over) // 4]:.2f} to {over[3 * len(over) // 4]:.2f})"


def time_calls(function: Callable[..., Any], args: list[Any], calls: int) -> float:
    """Microseconds a call."""
    began = time.process_time()
    for _ in range(calls):
        function(*args)
    return (time.process_time() - began) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", default="rms_norm")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--other", help="the Python of an environment with the package popcorn of PyPI")
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
    other = Other(options.other, options.op, [list(one.shape) for one in args], options.calls) if options.other else None
    theirs: list[dict[str, float]] = []
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(options.repeats):
        order = list(ways) if repeat % 2 == 0 else list(reversed(ways))
        for name in order:
            taken[name].append(time_calls(ways[name], args, options.calls))
        if other is not None:
            theirs.append(other.measure("forward" if repeat % 2 == 0 else "backward"))
    machine = probe("cpu")
    print(f"{machine.device_name}, torch {machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    print(f"{options.op}: direct {statistics.median(taken['direct']):.2f} µs a call")
    for name in ("op", "specialize"):
        print(told(name, taken[name], taken["direct"]))
    if other is None:
        print("popcorn of PyPI: not compared; --other names the Python of an environment that has it (--help says how to make one)")
    else:
        direct, through = ([one[name] for one in theirs] for name in ("direct", "op"))
        print(f"popcorn {other.version} of PyPI, torch {other.torch}, same run: its reference {statistics.median(direct):.2f} µs a call")
        print(told("its op", through, direct))


if __name__ == "__main__":
    main()
