"""The choice of experts in Triton. Needs torch and triton.

Bound by memory, as far as so little is bound by anything but its launch: logits read once, R·E elements, the k largest found one after the other in
registers, where plain torch sorts every row in memory. Backward: k weights and their gradients read, R·E written. Equal logits: the lower
index first.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.calls import ACCEPTED, Answer, Call, Rejected
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_rows, fresh, power_of_two, tile_of

LANGUAGE = "triton"
MOST_EXPERTS, MOST_CHOSEN = 4096, 32


@triton.jit
def _choose(logits, weights, experts, rows, width, step, K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, CHOSEN: tl.constexpr):
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    inside = (lane < rows)[:, None] & (column < width)
    left = tl.load(logits + lane.to(tl.int64)[:, None] * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    left = tl.where(left == left, left, float("inf"))  # NaN counts as the largest, as torch sorts it; its row's weights become NaN
    taken = column >= width
    place = tl.arange(0, CHOSEN)[None, :]
    best = tl.full([ROWS, CHOSEN], -float("inf"), tl.float32)
    which = tl.zeros([ROWS, CHOSEN], tl.int32)
    for j in tl.static_range(K):
        top = tl.max(tl.where(taken, -float("inf"), left), 1)[:, None]
        # the first that is as large and not taken: also where all that is left is −inf
        at = tl.min(tl.where((left == top) & (taken == 0), column, BLOCK), 1)[:, None]
        best = tl.where(place == j, top, best)
        which = tl.where(place == j, at, which)
        taken = taken | (column == at)
    mass = tl.exp(best - tl.max(best, 1)[:, None])
    share = mass / tl.sum(mass, 1)[:, None]
    out = lane.to(tl.int64)[:, None] * K + place
    known = (lane < rows)[:, None] & (place < K)
    tl.store(weights + out, share.to(weights.dtype.element_ty), mask=known)
    tl.store(experts + out, which.to(tl.int64), mask=known)


@triton.jit
def _choose_back(weights, experts, dweights, out, rows, width, step, K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # of a chosen one: w (dw − Σ w dw); the others have none
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    known = lane < rows
    along = tl.zeros([ROWS], tl.float32)
    for j in tl.static_range(K):
        w = tl.load(weights + lane.to(tl.int64) * K + j, mask=known, other=0.0).to(tl.float32)
        along += w * tl.load(dweights + lane.to(tl.int64) * step + j, mask=known, other=0.0).to(tl.float32)
    slope = tl.zeros([ROWS, BLOCK], tl.float32)
    for j in tl.static_range(K):
        w = tl.load(weights + lane.to(tl.int64) * K + j, mask=known, other=0.0).to(tl.float32)
        g = tl.load(dweights + lane.to(tl.int64) * step + j, mask=known, other=0.0).to(tl.float32)
        at = tl.load(experts + lane.to(tl.int64) * K + j, mask=known, other=-1)[:, None]
        slope = tl.where(column == at, (w * (g - along))[:, None], slope)
    inside = known[:, None] & (column < width)
    tl.store(out + lane.to(tl.int64)[:, None] * width + column, slope.to(out.dtype.element_ty), mask=inside)


_launch_choose, _launch_back = Launcher(_choose), Launcher(_choose_back)


def _forward(tensors: Any, scalars: Any) -> Any:
    (logits,), k = tensors, int(scalars[0])
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    tile = tile_of(width)
    weights = logits.new_empty((*logits.shape[:-1], k))
    experts = torch.empty(weights.shape, dtype=torch.int64, device=logits.device)
    constants = (k, *tile[:2], power_of_two(k))
    _launch_choose(-(-rows // tile.rows), (given, weights, experts), (rows, width, step), constants, tile.warps)
    return (weights, experts), (weights, experts)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (logits,), (weights, experts), k = tensors, kept, int(scalars[0])
    width = logits.shape[-1]
    rows = logits.numel() // width
    slopes, step = as_rows(cotangents[0], k)
    tile = tile_of(width)
    out = fresh(logits)
    constants = (k, *tile[:2])
    _launch_back(-(-rows // tile.rows), (weights, experts, slopes, out), (rows, width, step), constants, tile.warps)
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
