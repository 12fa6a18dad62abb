"""Rows moved between tokens and the slots of their experts, in Triton. Needs torch and triton.

Slot n·A + a is choice a of token n; order[i] is the slot of row i of the grouped rows, place[slot] the row of a slot. Bound by memory: a row is read
once for each time that it is needed and written once; sums over a token's A slots run in their order, so no atomics: the same bits every time.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_rows, power_of_two

_TILE = 2048
"""Elements that a program takes."""


@triton.jit
def _gather(x, order, place, out, many, width, step, across, choices: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) // across * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)[None, :]
    slot = tl.load(order + lane, mask=lane < many, other=0)
    if tl.program_id(0) % across == 0:
        tl.store(place + slot, lane.to(tl.int64), mask=lane < many)
    inside = (lane < many)[:, None] & (column < width)
    v = tl.load(x + (slot // choices)[:, None] * step + column, mask=inside)
    tl.store(out + lane.to(tl.int64)[:, None] * width + column, v, mask=inside)


@triton.jit
def _gather_sum(
    rows, place, weights, out, many, width, step, across,
    choices: tl.constexpr, WEIGHTED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(0) // across * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (lane < many)[:, None] & (column < width)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for a in tl.static_range(choices):
        slot = lane.to(tl.int64) * choices + a
        row = tl.load(place + slot, mask=lane < many, other=0)
        v = tl.load(rows + row[:, None] * step + column, mask=inside, other=0.0).to(tl.float32)
        if WEIGHTED:
            v *= tl.load(weights + slot, mask=lane < many, other=0.0).to(tl.float32)[:, None]
        total += v
    tl.store(out + lane.to(tl.int64)[:, None] * width + column, total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _combine_back(rows, order, weights, dy, drows, dweights, many, width, step, dy_step, choices: tl.constexpr, BLOCK: tl.constexpr):
    # drows = weight · dy of the token, dweight = Σ dy row: a program for each row
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(order + row)
    weight = tl.load(weights + slot).to(tl.float32)
    lane = tl.arange(0, BLOCK)
    along = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        inside = start + lane < width
        g = tl.load(dy + slot // choices * dy_step + start + lane, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(rows + row * step + start + lane, mask=inside, other=0.0).to(tl.float32)
        along += g * v
        tl.store(drows + row * width + start + lane, (g * weight).to(drows.dtype.element_ty), mask=inside)
    tl.store(dweights + slot, tl.sum(along, 0).to(dweights.dtype.element_ty))


@triton.jit
def _place(order, place, many, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(place + tl.load(order + lane, mask=lane < many, other=0), lane.to(tl.int64), mask=lane < many)


@triton.jit
def _count(index, out, many, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    number = tl.zeros([BLOCK], tl.int32)
    for start in range(0, many, BLOCK):
        number += (tl.load(index + start + lane, mask=start + lane < many, other=-1) == tl.program_id(0)).to(tl.int32)
    tl.store(out + tl.program_id(0), tl.sum(number, 0).to(tl.int64))


_launch_gather, _launch_sum, _launch_back = Launcher(_gather), Launcher(_gather_sum), Launcher(_combine_back)
_launch_place, _launch_count = Launcher(_place), Launcher(_count)


def _tile(width: int) -> tuple[int, int, int]:
    """(rows, columns, programs across a row)."""
    block = min(_TILE, max(16, power_of_two(width)))
    return _TILE // block, block, -(-width // block)


def gather(x: Tensor, order: Tensor, choices: int) -> tuple[Tensor, Tensor]:
    """x (N, D), order (N·A) → (x's row of each slot in order (N·A, D), place (N·A))."""
    given, step = as_rows(x, x.shape[1])
    out, place = x.new_empty((order.shape[0], x.shape[1])), torch.empty_like(order)
    rows, block, across = _tile(x.shape[1])
    programs = -(-order.shape[0] // rows) * across
    _launch_gather(programs, (given, order, place, out), (order.shape[0], x.shape[1], step, across), (choices, rows, block), 4)
    return out, place


def gather_sum(rows: Tensor, place: Tensor, choices: int, weights: Tensor | None = None) -> Tensor:
    """rows (N·A, D), place (N·A), weights (N, A) → the sum of each token's rows, each times its weight, (N, D)."""
    given, step = as_rows(rows, rows.shape[1])
    tokens, width = place.shape[0] // choices, rows.shape[1]
    out = rows.new_empty((tokens, width))
    high, block, across = _tile(width)
    by = rows if weights is None else weights.contiguous()
    constants = (choices, weights is not None, high, block)
    _launch_sum(-(-tokens // high) * across, (given, place, by, out), (tokens, width, step, across), constants, 4)
    return out


def combine_back(rows: Tensor, order: Tensor, weights: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of rows (N·A, D) and weights (N, A) from that of their weighted sums, dy (N, D)."""
    given, step = as_rows(rows, rows.shape[1])
    slopes, dy_step = as_rows(dy, dy.shape[1])
    drows, dweights = rows.new_empty(rows.shape), weights.new_empty(weights.shape)
    block = min(_TILE, max(128, power_of_two(rows.shape[1])))
    tensors = (given, order, weights.contiguous(), slopes, drows, dweights)
    _launch_back(rows.shape[0], tensors, (rows.shape[0], rows.shape[1], step, dy_step), (weights.shape[1], block), 4)
    return drows, dweights


def places_of(order: Tensor) -> Tensor:
    """The row of each slot: the permutation turned round."""
    place = torch.empty_like(order)
    _launch_place(-(-order.shape[0] // 1024), (order, place), (order.shape[0],), (1024,), 4)
    return place


def count(index: Tensor, experts: int) -> Tensor:
    """How often each of `experts` numbers stands in index (M)."""
    out = index.new_empty((experts,))
    _launch_count(experts, (index, out), (index.shape[0],), (1024,), 4)
    return out
