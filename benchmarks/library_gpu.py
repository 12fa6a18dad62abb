"""The library's GPU kernels beside torch, torch.compile and Liger: time, bandwidth as a share of a copy's, host overhead, peak memory.

    python benchmarks/library_gpu.py [--quick] [--ops rms_norm swiglu] [--implementations triton torch inductor liger] [--json FILE]

Needs a CUDA machine. Every time is the median of calls behind an L2 flush and a spinning kernel, so that caches are cold and the host's
own time is hidden; a copy that moves as many bytes is timed in the same way, and its bandwidth is what the shares are of. Host overhead is
the time until a call returns, tiny inputs, many calls. Memory is the peak beyond inputs, of forward and backward. Before it is timed an
implementation is held to the reference in float64 on some rows of the same width.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from popcorn.ops.registry import Op, find_op, list_ops
from popcorn.verify.judge import FLOORS

Dims = dict[str, int]

NORM = [
    {"R": 16384, "D": 4096},
    {"R": 4096, "D": 1024},
    {"R": 32768, "D": 1024},
    {"R": 65536, "D": 2048},
    {"R": 8192, "D": 8192},
    {"R": 4096, "D": 16384},
]
GATED = [{"R": 8192, "D": 11008}, {"R": 4096, "D": 4096}, {"R": 16384, "D": 14336}, {"R": 65536, "D": 1408}]
VOCABULARY = [{"R": 4096, "V": 128256}, {"R": 8192, "V": 32000}, {"R": 4096, "V": 50257}]
SHAPES: dict[str, list[Dims]] = {
    "rms_norm": NORM, "add_rms_norm": NORM, "layer_norm": NORM, "l2_norm": [*NORM, {"R": 524288, "D": 128}],
    "softmax": [*NORM, {"R": 4096, "D": 32000}, {"R": 1024, "D": 128256}], "logsumexp": [*NORM, {"R": 4096, "D": 128256}],
    "cross_entropy": VOCABULARY, "kl_div": VOCABULARY, "swiglu": GATED, "geglu": GATED, "gelu": GATED,
    "rope": [{"R": 64, "T": 4096, "K": 128}, {"R": 32, "T": 2048, "K": 128}, {"R": 32, "T": 8192, "K": 64}],
    "linear_cross_entropy": [{"R": 8192, "D": 4096, "V": 128256}, {"R": 4096, "D": 2048, "V": 32000}],
    "selective_log_softmax": VOCABULARY, "jsd": VOCABULARY, "top_k_router": [{"R": 65536, "E": 128}, {"R": 262144, "E": 128}],
    "group_norm": [{"B": 16, "C": 512, "S": 4096}, {"B": 64, "C": 320, "S": 1024}],
    "rotary_embedding": [{"B": 4, "H": 32, "T": 4096, "K": 128}],
    "moe_dispatch": [{"N": 16384, "D": 4096, "A": 2}], "moe_combine": [{"N": 16384, "A": 2, "D": 4096}],
    "matmul": [{"R": 8192, "K": 8192, "N": 8192}, {"R": 4096, "K": 4096, "N": 4096}, {"R": 16384, "K": 4096, "N": 11008}],
    "embedding": [{"R": 16384, "V": 128256, "D": 4096}],
    "causal_conv1d": [{"B": 8, "D": 4096, "T": 4096, "W": 4}],
    "grouped_matmul": [{"M": 16384, "K": 4096, "E": 8, "N": 4096}],
    "addmm": [{"N": 4096, "R": 8192, "K": 4096}],
    "int8_matmul": [{"R": 16, "K": 8192, "N": 8192}, {"R": 4096, "K": 4096, "N": 4096}],
    "attn_varlen": [{"N": 16384, "H": 16, "K": 128, "G": 16, "E": 9}],
    "attn_decode": [{"B": 64, "H": 32, "K": 128, "P": 4096, "L": 64, "G": 8, "M": 64}],
    "attn": [{"B": 1, "H": 16, "T": 16384, "K": 128, "G": 16}, {"B": 4, "H": 32, "T": 4096, "K": 128, "G": 8}, {"B": 4, "H": 16, "T": 4096, "K": 64, "G": 16}],
}  # fmt: skip
BACKWARD: dict[str, Callable[..., int]] = {
    "rms_norm": lambda R, D: 3 * R * D, "add_rms_norm": lambda R, D: 4 * R * D, "layer_norm": lambda R, D: 3 * R * D,
    "l2_norm": lambda R, D: 3 * R * D, "softmax": lambda R, D: 3 * R * D, "logsumexp": lambda R, D: 2 * R * D,
    "cross_entropy": lambda R, V: 2 * R * V, "kl_div": lambda R, V: 2 * R * V, "swiglu": lambda R, D: 5 * R * D,
    "geglu": lambda R, D: 5 * R * D, "gelu": lambda R, D: 3 * R * D, "rope": lambda R, T, K: 2 * R * T * K,
    "selective_log_softmax": lambda R, V: 2 * R * V, "jsd": lambda R, V: 3 * R * V, "group_norm": lambda B, C, S: 3 * B * C * S,
    "rotary_embedding": lambda B, H, T, K: 2 * B * H * T * K, "top_k_router": lambda R, E: R * E,
    "embedding": lambda R, V, D: (R + V) * D, "moe_dispatch": lambda N, D, A: (1 + A) * N * D, "moe_combine": lambda N, A, D: (1 + 2 * A) * N * D,
    "causal_conv1d": lambda B, D, T, W: 3 * B * D * T,
}  # fmt: skip
"""Elements that a backward pass must move at least, for the gradients asked below."""
GRADIENTS_OF = {"rope": ("x",), "kl_div": ("log_q",), "jsd": ("log_q",)}
"""Arguments whose gradients training asks for; all floating ones where an op is not named."""
RIVALS: dict[str, tuple[str, ...]] = {
    "matmul": ("torch",),
    "addmm": ("torch",),
    "grouped_matmul": ("torch",),
    "attn": ("cudnn", "sdpa"),
    "attn_varlen": ("sdpa",),
}
"""Implementations that an op bound by matrix products is held against: the fastest of them."""
TINY = {
    "R": 8,
    "D": 256,
    "T": 8,
    "K": 64,
    "V": 512,
    "N": 64,
    "B": 2,
    "H": 2,
    "G": 2,
    "A": 2,
    "E": 64,
    "C": 64,
    "S": 64,
    "M": 64,
    "W": 4,
    "L": 16,
    "P": 32,
}
CHECKED_ROWS = 48


@dataclass
class Row:
    """One implementation at one case."""

    op: str
    dims: Dims
    precision: str
    implementation: str
    forward_s: float | None = None
    backward_s: float | None = None
    forward_share: float | None = None
    backward_share: float | None = None
    forward_bytes_per_s: float | None = None
    backward_bytes_per_s: float | None = None
    peak_bytes: int | None = None
    error: str | None = None


class Clock:
    """Medians behind an L2 flush, that leaves dirty lines or clean ones, and a spinning kernel; a copy's bandwidth by size."""

    def __init__(self, torch: Any, clean: bool = True):
        self.torch = torch
        self.other = torch.zeros(64 << 20, dtype=torch.float32, device="cuda") if clean else None
        self.flush = torch.empty(64 << 20, dtype=torch.float32, device="cuda")
        self.copies: dict[int, float] = {}

    def time(self, call: Callable[[], Any], seconds: float = 0.06) -> float:
        """Seconds a call."""
        torch = self.torch
        call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        rounds = int(min(30, max(5, seconds / (time.perf_counter() - start + 1e-4))))
        marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(rounds)]
        for first in range(0, rounds, 5):
            torch.cuda._sleep(4_000_000)  # about 2 ms: five rounds are queued meanwhile
            for begin, end in marks[first : first + 5]:
                self.flush.add_(0.0)
                if self.other is not None:  # what lies in L2 is written back already
                    self.other.sum()
                begin.record()
                call()
                end.record()
            torch.cuda.synchronize()
        return statistics.median(begin.elapsed_time(end) * 1e-3 for begin, end in marks)

    def copy_rate(self, moved_bytes: float) -> float:
        """Bytes a second of a copy that reads and writes about so many in all."""
        half = max(1 << 20, 1 << (int(moved_bytes) // 2).bit_length() - 1)
        if half not in self.copies:
            source = self.torch.ones(half // 4, dtype=self.torch.float32, device="cuda")
            target = self.torch.empty_like(source)
            self.copies[half] = 2 * half / self.time(lambda: target.copy_(source))
        return self.copies[half]


def inputs_of(torch: Any, op: Op, dims: Dims, dtype: Any) -> list[Any]:
    """Tensors on the GPU; gradients asked where training asks for them."""
    wanted = GRADIENTS_OF.get(op.name, op.signature.names)
    with torch.device("cuda"):
        made = op.make_inputs(dims)
    out = []
    for spec, tensor in zip(op.signature.inputs, made, strict=True):
        if not tensor.is_floating_point():
            out.append(tensor)
            continue
        tensor = (
            tensor.log_softmax(-1)
            if op.name in ("kl_div", "jsd")
            else tensor * dims["D"] ** -0.5
            if spec.name == "weight" and "V" in dims
            else tensor
        )
        out.append(tensor.to(dtype).requires_grad_(op.differentiable and spec.name in wanted))
    return out


def gradients(torch: Any, run: Callable[..., Any], inputs: list[Any], seed: int = 5) -> tuple[list[Any], Callable[[], Any]]:
    """(outputs, a call of the backward pass, which may be repeated)."""
    outputs = run(*inputs)
    outputs = [o for o in (outputs if isinstance(outputs, tuple) else (outputs,)) if o.is_floating_point()]
    torch.manual_seed(seed)
    cotangents = [
        torch.randn(o.shape, device="cuda", dtype=torch.float32).to(torch.bfloat16).to(o.dtype) if o.dim() else torch.ones_like(o)
        for o in outputs
    ]
    leaves = [t for t in inputs if t.requires_grad]
    if not leaves:
        return outputs, list
    return outputs, lambda: torch.autograd.grad(outputs, leaves, cotangents, retain_graph=True)


def check(torch: Any, op: Op, run: Callable[..., Any], dims: Dims, dtype: Any) -> str | None:
    """What is wrong on some rows of this width, or None."""
    small = dict(dims)
    if "R" in dims:
        small["R"] = min(dims["R"], 2 if op.name == "rope" else CHECKED_ROWS)
    small |= {
        "linear_cross_entropy": {"R": 256, "D": 64},
        "attn": {"B": 1, "T": 1000},
        "addmm": {"K": 1000},
        "grouped_matmul": {"M": 300, "K": 512},
        "embedding": {"V": 1000, "D": 512},
        "moe_dispatch": {"N": 48},
        "moe_combine": {"N": 48},
        "group_norm": {"B": 2},
        "causal_conv1d": {"B": 2, "D": 64},
        "attn_varlen": {"N": 1000},
        "attn_decode": {"B": 2, "P": 64, "M": 16},
        "rotary_embedding": {"B": 2, "H": 3},
    }.get(op.name, {})
    given = inputs_of(torch, op, small, dtype)
    sides = []
    for function, inputs in (
        (run, given), (op.reference, given), (op.reference, [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in given]),
    ):  # fmt: skip
        outputs, backward = gradients(torch, function, inputs)
        sides.append([*outputs, *backward()])
    floor = FLOORS[str(dtype).removeprefix("torch.")]
    for index, (mine, theirs, true) in enumerate(zip(*sides, strict=True)):
        scale = max(true.square().mean().sqrt().item(), true.abs().max().item())
        error, own = (mine.double() - true).abs().max().item(), (theirs.double() - true).abs().max().item()
        if not error <= max((3 if op.name in ("attn", "attn_varlen") else 2) * own, floor * scale):
            return f"WRONG: result {index} is off by {error:.3g}, the reference by {own:.3g}, scale {scale:.3g}"
    return None


def measure(torch: Any, clock: Clock, op: Op, name: str, run: Callable[..., Any], dims: Dims, dtype: Any) -> Row:
    """Times, shares and memory of one implementation at one case."""
    row = Row(op.name, dims, str(dtype).removeprefix("torch."), name)
    try:
        if name not in ("torch", "inductor"):
            row.error = check(torch, op, run, dims, dtype)
        inputs = inputs_of(torch, op, dims, dtype)
        size = inputs[0].element_size()
        with torch.no_grad():
            row.forward_s = clock.time(lambda: run(*inputs))
        outputs, backward = gradients(torch, run, inputs)
        row.backward_s = clock.time(backward) if op.differentiable else None
        del outputs, backward
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = gradients(torch, run, inputs)
        kept[1]()
        row.peak_bytes = torch.cuda.max_memory_allocated() - before
        moved = op.min_bytes(dims, size)
        row.forward_bytes_per_s = moved / row.forward_s
        row.forward_share = row.forward_bytes_per_s / clock.copy_rate(moved)
        if op.name in BACKWARD and row.backward_s:
            moved = BACKWARD[op.name](**dims) * size
            row.backward_bytes_per_s = moved / row.backward_s
            row.backward_share = row.backward_bytes_per_s / clock.copy_rate(moved)
    except Exception as error:  # one implementation that fails must not end the table
        row.error = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return row


def host_overhead(torch: Any, op: Op, run: Callable[..., Any], calls: int = 600) -> dict[str, float]:
    """Seconds until a call returns: forward alone, forward with a graph, and its backward pass."""
    inputs = inputs_of(torch, op, {name: TINY[name] for name in op.signature.dims}, torch.bfloat16)

    def least(call: Callable[[], Any]) -> float:
        times = []
        for _ in range(15):  # the least of many: on a shared host whole rounds are slower by half
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls // 15):
                call()
            times.append((time.perf_counter() - start) / (calls // 15))
        return min(times)

    with torch.no_grad():
        run(*inputs)
        forward = least(lambda: run(*inputs))
    _, backward = gradients(torch, run, inputs)
    backward()
    return {"forward_s": forward, "with_graph_s": least(lambda: run(*inputs)), "backward_s": least(backward)}


def candidates(torch: Any, op: Op, wanted: list[str], dims: Dims, dtype: Any) -> dict[str, Callable[..., Any]]:
    """Implementations that take the case; torch.compile afresh for each, so that sizes are constants to it."""
    found: dict[str, Callable[..., Any]] = {}
    call = op.call_of(*inputs_of(torch, op, {**dims, **({"R": 8} if "R" in dims else {})}, dtype))
    for name in wanted:
        if name == "inductor":
            torch._dynamo.reset()
            found[name] = torch.compile(op.reference, dynamic=False)
        elif name in op.implementations:
            one = op.implementations[name]
            answer = one.accepts(call)
            if answer and one.run is not None:
                found[name] = one.run
            else:
                print(f"  {op.name}[{name}] {getattr(answer, 'reason', 'did not load')}")
    return found


def show(row: Row) -> str:
    """A line of the table."""
    sizes = " ".join(f"{k}={v}" for k, v in row.dims.items())
    head = f"{row.op:13.13} {sizes:20.20} {row.precision[:4]} {row.implementation:8}"
    if row.forward_s is None or row.backward_s is None:
        return f"{head} {row.error}"

    def part(seconds: float, rate: float | None, share: float | None) -> str:
        tail = f"{rate / 1e9:6.0f} {share:5.0%}" if rate and share else " " * 12
        return f"{seconds * 1e6:8.1f} {tail}"

    left = part(row.forward_s, row.forward_bytes_per_s, row.forward_share)
    right = part(row.backward_s, row.backward_bytes_per_s, row.backward_share)
    return f"{head} {left} {right} {(row.peak_bytes or 0) / 2**20:6.0f} {row.error or ''}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one shape an op, bfloat16, under 150 s")
    parser.add_argument("--ops", nargs="*", default=None)
    parser.add_argument("--implementations", nargs="*", default=["triton", "chunked", "torch", "inductor", "liger"])
    parser.add_argument("--precisions", nargs="*", default=["bfloat16", "float32"])
    parser.add_argument("--seconds", type=float, default=None, help="after so long, torch.compile is left out")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("library_gpu.py measures GPU kernels and this machine has no CUDA GPU; run it on one that has")
        return 0
    begun, limit = time.perf_counter(), options.seconds or (110.0 if options.quick else float("inf"))
    clock, rows, hosts = Clock(torch), [], []
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; copy of 1 GB: {clock.copy_rate(2**30) / 1e12:.2f} TB/s")
    print("host overhead, µs: forward, forward with a graph, backward")
    names = [name for name in (options.ops or list_ops()) if name in SHAPES]
    for name in names:
        op = find_op(name)
        for who, run in candidates(
            torch, op, [w for w in options.implementations if w != "inductor"], {d: TINY[d] for d in op.signature.dims}, torch.bfloat16
        ).items():
            try:
                took = host_overhead(torch, op, run)
            except Exception as error:
                print(f"  {name}[{who}] {type(error).__name__}: {' '.join(str(error).split())[:300]}")
                continue
            hosts.append({"op": name, "implementation": who, **took})
            print(f"  {name:20} {who:8} " + " ".join(f"{seconds * 1e6:7.1f}" for seconds in took.values()), flush=True)
    print("op            sizes                type by        fwd µs   GB/s  copy   bwd µs   GB/s  copy     MB")
    for name in names:
        op = find_op(name)
        for dims in SHAPES[name][: 1 if options.quick else None]:
            for precision in options.precisions[: 1 if options.quick else None]:
                dtype = getattr(torch, precision)
                late = time.perf_counter() - begun > limit
                wanted = [w for w in options.implementations if not (late and w == "inductor")]
                for who, run in candidates(torch, op, wanted, dims, dtype).items():
                    rows.append(measure(torch, clock, op, who, run, dims, dtype))
                    print(show(rows[-1]), flush=True)
                    torch.cuda.empty_cache()
    if options.json:
        options.json.write_text(json.dumps({"rows": [asdict(row) for row in rows], "host": hosts}, indent=1), encoding="utf-8")
    wrong = [row for row in rows if row.error]
    print(f"{len(rows)} rows, {len(wrong)} with an error, {time.perf_counter() - begun:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
