"""Rows of a table in torch's sort and Triton. Needs torch and triton.

Bound by memory. Forward: rows read and written, 2·R·D elements; an index outside [0, V) makes its row NaN, nothing outside the table is read. Backward:
the table's gradient written whole, zeros too, each row by the program that has it and reads the cotangents of its own tokens, eight at a time:
(R + V)·D elements, no atomics, the same bits every time. Tokens are brought together by torch's sort of R numbers.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_rows, fresh, power_of_two

LANGUAGE = "triton"
_TILE, _DEEP = 2048, 8
"""Elements that a program takes of rows to be copied; tokens of a sum at once."""


@triton.jit
def _rows(index, weight, y, many, width, step, length, across, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) // across * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)[None, :]
    row = tl.load(index + lane, mask=lane < many, other=-1).to(tl.int64)
    inside = (lane < many)[:, None] & (column < width)
    known = inside & ((row >= 0) & (row < length))[:, None]
    v = tl.load(weight + row[:, None] * step + column, mask=known, other=float("nan"))
    tl.store(y + lane.to(tl.int64)[:, None] * width + column, v, mask=inside)


@triton.jit
def _edges(ordered, edges, many, length, BLOCK: tl.constexpr):
    # where each number begins and ends among the sorted ones
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < many
    mine = tl.load(ordered + lane, mask=inside, other=-1)
    before = tl.load(ordered + lane - 1, mask=inside & (lane > 0), other=-1)
    after = tl.load(ordered + lane + 1, mask=lane + 1 < many, other=-1)
    known = inside & (mine >= 0) & (mine < length)
    tl.store(edges + mine, lane, mask=known & (mine != before))
    tl.store(edges + length + mine, lane + 1, mask=known & (mine != after))


@triton.jit
def _sum_tokens(dy, order, edges, dweight, length, width, step, across, DEEP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) // across
    column = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)[None, :]
    first, end = tl.load(edges + row), tl.load(edges + length + row)
    total = tl.zeros([DEEP, BLOCK], tl.float32)
    for start in range(first, end, DEEP):
        lane = start + tl.arange(0, DEEP)
        token = tl.load(order + lane, mask=lane < end, other=0)
        inside = (lane < end)[:, None] & (column < width)
        total += tl.load(dy + token[:, None] * step + column, mask=inside, other=0.0).to(tl.float32)
    lane = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    tl.store(dweight + row.to(tl.int64) * width + lane, tl.sum(total, 0).to(dweight.dtype.element_ty), mask=lane < width)


_launch_rows, _launch_edges, _launch_sum = Launcher(_rows), Launcher(_edges), Launcher(_sum_tokens)


def _forward(tensors: Any, scalars: Any) -> Any:
    index, weight = tensors
    width, many = weight.shape[1], index.numel()
    given, step = as_rows(weight, width)
    y = weight.new_empty((*index.shape, width))
    block = min(_TILE, max(16, power_of_two(width)))
    across, high = -(-width // block), _TILE // block
    tensors = (index.contiguous(), given, y)
    _launch_rows(-(-many // high) * across, tensors, (many, width, step, weight.shape[0], across), (high, block), 4)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    index, weight = tensors
    (length, width), many = weight.shape, index.numel()
    ordered, order = torch.sort(index.reshape(-1), stable=True)
    edges = torch.zeros((2, length), dtype=torch.int32, device=weight.device)
    _launch_edges(-(-many // 1024), (ordered, edges), (many, length), (1024,), 4)
    dy, step = as_rows(cotangents[0], width)
    dweight = fresh(weight)
    block = min(1024, max(16, power_of_two(width)))
    across = -(-width // block)
    _launch_sum(length * across, (dy, order, edges, dweight), (length, width, step, across), (_DEEP, block), 4)
    return [None, dweight]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda index, weight: [((*index.shape, weight.shape[1]), weight.dtype)]
)  # fmt: skip


def run(index: Tensor, weight: Tensor) -> Any:
    """As the reference."""
    return _call((index, weight))
