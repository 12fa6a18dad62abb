"""This project's own C++ kernels, one line an op and case: forward and backward beside torch and torch.compile, and the share of the bound.

    python benchmarks/kernels_cpu.py [--ops rms_norm softmax] [--all-shapes] [--precision float32] [--threads 1] [--without inductor] [--json FILE]

On a quiet machine; about two minutes where torch.compile has compiled the cases before, three to five where it has not. A time is the median of the
faster half of a few blocks of calls, implementations taking turns; of one thread, processor time. The share is of a copy into a new tensor that moves as
many bytes; what reads and never writes may be above 100 %, and what takes exponentials of data that the cache holds is bound by those. A kernel is held
to the reference in float64 at each case before it is timed: no error beyond twice torch's own, or the floor of the judge.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from library_gpu import BACKWARD, GRADIENTS_OF

from popcorn.devices.probe import probe
from popcorn.ops.registry import Op, find_op, list_ops
from popcorn.verify.judge import FLOORS

Dims = dict[str, int]
Clock = Callable[[], float]
NORM = [{"R": 4096, "D": 64}, {"R": 1024, "D": 4096}, {"R": 128, "D": 4096}, {"R": 4096, "D": 1024}]
GATED = [{"R": 16, "D": 11008}, {"R": 512, "D": 11008}, {"R": 2048, "D": 128}]
VOCABULARY = [{"R": 2048, "V": 1024}, {"R": 64, "V": 128256}, {"R": 256, "V": 32000}]
SHAPES: dict[str, list[Dims]] = {
    "rms_norm": NORM, "add_rms_norm": NORM, "layer_norm": NORM, "l2_norm": NORM, "softmax": NORM, "logsumexp": NORM,
    "cross_entropy": VOCABULARY, "selective_log_softmax": VOCABULARY, "kl_div": VOCABULARY, "jsd": VOCABULARY,
    "swiglu": GATED, "geglu": GATED, "gelu": GATED,
    "rope": [{"R": 2, "T": 8192, "K": 64}, {"R": 32, "T": 1024, "K": 128}],
    "rotary_embedding": [{"B": 1, "H": 32, "T": 512, "K": 128}, {"B": 1, "H": 1, "T": 32768, "K": 64}],
    "group_norm": [{"B": 8, "C": 320, "S": 256}, {"B": 8, "C": 320, "S": 1024}],
    "top_k_router": [{"R": 8192, "E": 128}, {"R": 131072, "E": 8}],
    "moe_dispatch": [{"N": 512, "D": 4096, "A": 2}, {"N": 32768, "D": 256, "A": 2}],
    "moe_combine": [{"N": 512, "A": 2, "D": 4096}, {"N": 32768, "A": 2, "D": 256}],
    "embedding": [{"R": 2048, "V": 8192, "D": 1024}, {"R": 8192, "V": 32000, "D": 256}],
    "causal_conv1d": [{"B": 1, "D": 4096, "T": 512, "W": 4}, {"B": 1, "D": 64, "T": 32768, "W": 4}],
    "int8_matmul": [{"R": 1, "K": 4096, "N": 4096}, {"R": 16, "K": 4096, "N": 4096}],
}  # fmt: skip
"""Of the production and long-context curves, below 64 MB; the first two of each unless --all-shapes."""
HEAD = f"{'op':22} {'sizes':22}  {'forward, us: torch  inductor      ours  share':>46}   {'backward, us: torch  inductor      ours  share':>46}"
BLOCKS, BLOCK_S = 7, 0.02


def inputs_of(torch: Any, op: Op, dims: Dims, dtype: Any, gradients: bool = True) -> list[Any]:
    """Tensors; gradients asked where training asks for them."""
    torch.manual_seed(7)
    made = []
    for spec, tensor in zip(op.signature.inputs, op.make_inputs(dims), strict=True):
        if tensor.is_floating_point():
            tensor = (tensor.log_softmax(-1) if op.name in ("kl_div", "jsd") else tensor).to(dtype)
            tensor.requires_grad_(gradients and op.differentiable and spec.name in GRADIENTS_OF.get(op.name, op.signature.names))
        made.append(tensor)
    return made


def backward_of(torch: Any, run: Callable[..., Any], inputs: list[Any]) -> Callable[[], Any] | None:
    """A call of the backward pass, which may be repeated."""
    made = run(*inputs)
    outputs = [o for o in (made if isinstance(made, tuple) else (made,)) if o.is_floating_point()]
    torch.manual_seed(5)
    cotangents = [torch.randn(o.shape, dtype=torch.float32).bfloat16().to(o.dtype) if o.dim() else torch.ones_like(o) for o in outputs]
    leaves = [t for t in inputs if t.requires_grad]
    return (lambda: torch.autograd.grad(outputs, leaves, cotangents, retain_graph=True)) if leaves else None


def times_of(calls: dict[str, Callable[[], Any]], clock: Clock) -> dict[str, float]:
    """Seconds a call of each, in turns."""
    many = {}
    for name, call in calls.items():
        call()
        began = clock()
        call()
        many[name] = max(1, int(BLOCK_S / (clock() - began + 1e-7)))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for block in range(BLOCKS):
        for name in list(calls) if block % 2 else reversed(list(calls)):
            began = clock()
            for _ in range(many[name]):
                calls[name]()
            taken[name].append((clock() - began) / many[name])
    return {name: statistics.median(sorted(several)[: BLOCKS // 2 + 1]) for name, several in taken.items()}


def copy_rate(torch: Any, moved_bytes: float, known: dict[int, float], clock: Clock) -> float:
    """Bytes a second of a copy that reads and writes about so many in all."""
    half = max(1 << 12, int(moved_bytes) // 2 // 4096 * 4096)
    if half not in known:
        source = torch.ones(half // 4)
        known[half] = 2 * half / times_of({"copy": source.clone}, clock)["copy"]
    return known[half]


def wrong(torch: Any, op: Op, run: Callable[..., Any], dims: Dims, dtype: Any) -> str | None:
    """What is wrong at these sizes, or None."""
    given, sides = inputs_of(torch, op, dims, dtype), []
    wide = [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in given]
    for function, inputs in ((run, given), (op.reference, given), (op.reference, wide)):
        made = function(*inputs)
        backward = backward_of(torch, function, inputs)
        sides.append([*(made if isinstance(made, tuple) else (made,)), *(backward() if backward else ())])
    floor = FLOORS[str(dtype).removeprefix("torch.")]
    for index, (mine, theirs, true) in enumerate(zip(*sides, strict=True)):
        error, own = (mine.double() - true).abs().max().item(), (theirs.double() - true).abs().max().item()
        if not error <= max(2 * own, floor * true.double().abs().max().item()):
            return f"WRONG: result {index} is off by {error:.3g}, torch by {own:.3g}"
    return None


def measure(torch: Any, op: Op, dims: Dims, options: argparse.Namespace, copies: dict[int, float], clock: Clock) -> dict[str, Any]:
    """One case: seconds of each implementation, forward and backward, and shares of the bound."""
    dtype = getattr(torch, options.precision)
    ways: dict[str, Callable[..., Any]] = {}
    for name in ("torch", "inductor", "popcorn"):
        if name == "inductor" and name not in options.without:
            torch._dynamo.reset()
            ways[name] = torch.compile(op.reference, dynamic=False)
        elif name not in options.without and name in op.implementations:
            ways[name] = op[name] if name != "torch" else op.reference
    inputs, still = inputs_of(torch, op, dims, dtype), inputs_of(torch, op, dims, dtype, gradients=False)
    row: dict[str, Any] = {
        "op": op.name,
        "dims": dims,
        "precision": options.precision,
        "error": wrong(torch, op, ways["popcorn"], dims, dtype),
    }
    with torch.no_grad():
        row["forward_s"] = times_of({name: (lambda run=run: run(*still)) for name, run in ways.items()}, clock)
    found = {name: backward_of(torch, run, inputs) for name, run in ways.items()}
    row["backward_s"] = times_of({name: call for name, call in found.items() if call}, clock)
    size = still[0].element_size() if still[0].is_floating_point() else 4
    for part, moved in (("forward", op.min_bytes(dims, size)), ("backward", BACKWARD.get(op.name, lambda **_: 0)(**dims) * size)):
        seconds = row[f"{part}_s"].get("popcorn")
        row[f"{part}_share"] = moved / seconds / copy_rate(torch, moved, copies, clock) if seconds and moved else None
    return row


def line(row: dict[str, Any]) -> str:
    """One case."""
    sizes = " ".join(f"{k}={v}" for k, v in row["dims"].items())
    told = f"{row['op']:22} {sizes:22} "
    for part in ("forward", "backward"):
        times, share = row[f"{part}_s"], row[f"{part}_share"]
        each = "".join(f"{times[name] * 1e6:10.1f}" if name in times else f"{'-':>10}" for name in ("torch", "inductor", "popcorn"))
        told += f"{'':14}{each} {f'{share:6.0%}' if share else '     -'}  "
    return f"{told} {row['error'] or ''}".rstrip()


def told_wins(rows: list[dict[str, Any]]) -> str:
    """Of how many cases ours is the faster one, a pass at a time."""
    parts = []
    for rival in ("torch", "inductor"):
        pairs = [row[part] for row in rows for part in ("forward_s", "backward_s") if rival in row[part] and "popcorn" in row[part]]
        won = sum(times["popcorn"] < times[rival] for times in pairs)
        parts.append(f"faster than {rival} in {won} of {len(pairs)}" if pairs else f"{rival}: not timed")
    shares = [row[f"{part}_share"] for row in rows for part in ("forward", "backward") if row[f"{part}_share"]]
    within = sum(share >= 1 / 1.3 for share in shares)
    return f"{'; '.join(parts)}; within 1.3x of the bound in {within} of {len(shares)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", default=None)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--all-shapes", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], choices=["torch", "inductor"])
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    began, rows, copies = time.perf_counter(), [], {}
    clock: Clock = (
        time.process_time if options.threads == 1 else time.perf_counter
    )  # of one thread, what others take of the machine does not count
    machine = probe("cpu")
    print(f"{machine.device_name}, torch {machine.torch}, {options.threads} thread(s), {options.precision}\n{HEAD}")
    for name in options.ops or [n for n in SHAPES if n in list_ops()]:
        op = find_op(name)
        if "popcorn" not in op.implementations:
            continue
        for dims in SHAPES[name][: None if options.all_shapes else 2]:
            rows.append(measure(torch, op, dims, options, copies, clock))
            print(line(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    bad = [row for row in rows if row["error"]]
    print(f"{told_wins(rows)}; {len(bad)} wrong; {time.perf_counter() - began:.0f} s")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
