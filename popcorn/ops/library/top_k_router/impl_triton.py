"""The choice of experts in Triton. Needs torch and triton.

Bound by memory, as far as so little is bound by anything but its launch, and by instructions: logits read once, R·E elements, the k largest found one
after the other in registers, where plain torch sorts every row in memory. Value and place are one whole number, so a choice is one reduction, and of
equal logits the lower index comes first. Backward: k weights and their gradients read, R·E written, zeros first: they wait for nothing.
On an H200 at 65,536 × 128 both are as fast, within a tenth, by programs of 1 to 8 warps and 512 to 8,192 elements: 13.1 and 12.0 µs, a copy of as many
bytes 9 to 10. About 20 instructions an element are what is left.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.calls import ACCEPTED, Answer, Call, Rejected
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.powers import exp_of
from popcorn.ops.tiles import as_rows, fresh, power_of_two

LANGUAGE = "triton"
MOST_EXPERTS, MOST_CHOSEN = 4096, 32
_PLACES = tl.constexpr(8191)
CHOOSE, BACK = (2048, 1), (1024, 1)
"""Elements of a program, its warps."""


@triton.jit
def _choose(
    logits, weights, experts, rows, width, step,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, CHOSEN: tl.constexpr, NARROW: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    inside = (lane < rows)[:, None] & (column < width)
    v = tl.load(logits + lane.to(tl.int64)[:, None] * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    # NaN counts as the largest, as torch sorts it, and its row's weights become NaN; −0 counts as 0
    bits = (tl.where(v == v, v, float("inf")) + 0.0).to(tl.int32, bitcast=True)
    bits ^= (bits >> 31) & 0x7FFFFFFF  # whole numbers in the values' order; of what lies beyond the row the last ones
    # the place stands below the value, so one reduction finds both, and of equal values the first
    if NARROW:  # of half precision, all of whose bits are above the lowest 13
        key = (bits & ~_PLACES) | (column ^ _PLACES)
        least = tl.full([1, 1], -(2**31), tl.int32)
    else:
        key = (bits.to(tl.int64) << 13) | (column ^ _PLACES)
        least = tl.full([1, 1], -(2**62), tl.int64)
    place = tl.arange(0, CHOSEN)[None, :]
    best = least + tl.zeros([ROWS, CHOSEN], least.dtype)
    for j in tl.static_range(K):
        top = tl.max(key, 1)[:, None]
        best = tl.where(place == j, top, best)
        key = tl.where(key == top, least, key)
    bits = best.to(tl.int32) & ~_PLACES if NARROW else (best >> 13).to(tl.int32)
    bits ^= (bits >> 31) & 0x7FFFFFFF
    value = (bits & ~_PLACES if NARROW else bits).to(tl.float32, bitcast=True)
    value = tl.where(place < K, value, -float("inf"))
    mass = exp_of(value - tl.max(value, 1)[:, None])
    share = mass / tl.sum(mass, 1)[:, None]
    out = lane.to(tl.int64)[:, None] * K + place
    known = (lane < rows)[:, None] & (place < K)
    tl.store(weights + out, share.to(weights.dtype.element_ty), mask=known)
    tl.store(experts + out, ((best & _PLACES) ^ _PLACES).to(tl.int64), mask=known)


@triton.jit
def _choose_back(
    weights, experts, dweights, out, rows, width, step,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, CHOSEN: tl.constexpr,
):  # fmt: skip
    # of a chosen one: w (dw − Σ w dw); the others have none, so their zeros wait for nothing
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = lane.to(tl.int64)[:, None]
    place, column = tl.arange(0, CHOSEN)[None, :], tl.arange(0, BLOCK)[None, :]
    known = (lane < rows)[:, None] & (place < K)
    w = tl.load(weights + at * K + place, mask=known, other=0.0).to(tl.float32)
    g = tl.load(dweights + at * step + place, mask=known, other=0.0).to(tl.float32)
    chosen = tl.load(experts + at * K + place, mask=known, other=0)
    zeros = tl.zeros([ROWS, BLOCK], out.dtype.element_ty)
    tl.store(out + at * width + column, zeros, mask=(lane < rows)[:, None] & (column < width))
    slope = w * (g - tl.sum(w * g, 1)[:, None])
    tl.debug_barrier()  # other threads have written zeros there
    tl.store(out + at * width + chosen, slope.to(out.dtype.element_ty), mask=known)


_launch_choose, _launch_back = Launcher(_choose), Launcher(_choose_back)


def _forward(tensors: Any, scalars: Any) -> Any:
    (logits,), k = tensors, int(scalars[0])
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    block = max(16, power_of_two(width))
    high = max(1, CHOOSE[0] // block)
    weights = logits.new_empty((*logits.shape[:-1], k))
    experts = torch.empty_like(weights, dtype=torch.int64)
    constants = (k, high, block, power_of_two(k), logits.element_size() == 2)
    _launch_choose(-(-rows // high), (given, weights, experts), (rows, width, step), constants, CHOOSE[1])
    return (weights, experts), (weights, experts)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (logits,), (weights, experts), k = tensors, kept, int(scalars[0])
    width = logits.shape[-1]
    rows = logits.numel() // width
    slopes, step = as_rows(cotangents[0], k)
    block = max(16, power_of_two(width))
    high = max(1, BACK[0] // block)
    out = fresh(logits)
    constants = (k, high, block, power_of_two(k))
    _launch_back(-(-rows // high), (weights, experts, slopes, out), (rows, width, step), constants, BACK[1])
    return [out]


def _few(call: Call) -> Answer:
    experts, k = call.dims.get("E", 0), call.scalars.get("k", 1)
    if experts > MOST_EXPERTS or not 1 <= k <= min(MOST_CHOSEN, experts):
        return Rejected(f"chooses 1 to {MOST_CHOSEN} of up to {MOST_EXPERTS:,} experts; the call wants {k} of {experts:,}")
    return ACCEPTED


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda logits, k: [((*logits.shape[:-1], k), logits.dtype), ((*logits.shape[:-1], k), torch.int64)],
    _few,
)


def run(logits: Tensor, k: int = 2) -> Any:
    """As the reference."""
    return _call((logits,), (k,))
