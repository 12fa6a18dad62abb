"""Residual sum and its RMS norm in Triton. Needs torch and triton.

Bound by memory. Forward: x and residual read, the sum and the normed sum written, 4·R·D elements, each once: a program holds whole rows in
registers. Backward: the sum (the forward pass's own output) and both cotangents read, one gradient written that both inputs share,
4·R·D. 1 / rms is made again from the row in registers. The weight's gradient is summed as in rms_norm, by whose means this backward pass is to
come from 73 % of a copy: tiles on their way, one round of waiting; 121 registers a thread at D = 4096, nothing spilled.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import at_most, gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.sums import add_programs, sum_2
from popcorn.ops.tiles import WIDEST, as_rows, fresh, stay_of, tile_of

LANGUAGE = "triton"


@triton.jit
def _forward_rows(x, residual, weight, y, sums, rows, width, x_step, r_step, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    a = tl.load(x + row.to(tl.int64) * x_step + column, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(residual + row.to(tl.int64) * r_step + column, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
    rounded = (a + b).to(sums.dtype.element_ty)
    tl.store(sums + row.to(tl.int64) * width + column, rounded, mask=inside)
    v = rounded.to(tl.float32)  # the norm is of the sum as it is stored
    scale = tl.rsqrt(tl.sum(v * v, 1) / width + eps)
    tl.store(y + row.to(tl.int64) * width + column, (v * scale[:, None] * w).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_rows(
    sums, weight, dy, dsum, dx, partial, rows, width, y_step, s_step, eps,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr, WEIGHT: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, BLOCK)[None, :]
    if BLOCK <= 8192:
        w = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & (column < width)
        v = tl.load(sums + row.to(tl.int64) * width + column, mask=inside, other=0.0).to(tl.float32)
        d = tl.load(dy + row.to(tl.int64) * y_step + column, mask=inside, other=0.0).to(tl.float32)
        h = tl.load(dsum + row.to(tl.int64) * s_step + column, mask=inside, other=0.0).to(tl.float32)
        if BLOCK > 8192:  # read again for each row: registers are what a long row lacks
            w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
        g = d * w
        squares, along = sum_2(v * v, g * v)
        s = tl.rsqrt(squares / width + eps)
        out = s[:, None] * g - v * (s * s * s * along / width)[:, None] + h
        tl.store(dx + row.to(tl.int64) * width + column, out.to(dx.dtype.element_ty), mask=inside)
        if WEIGHT:
            total += d * (v * s[:, None])
    if WEIGHT:
        lane = tl.arange(0, BLOCK)
        tl.store(partial + tl.program_id(0) * width + lane, tl.sum(total, 0), mask=lane < width)


_launch_forward = Launcher(_forward_rows)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    x, residual, weight = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    tile = tile_of(width)
    y = fresh(x)
    sums = fresh(x)
    a, a_step = as_rows(x, width)
    b, b_step = as_rows(residual, width)
    numbers = (rows, width, a_step, b_step, scalars[0])
    _launch_forward(-(-rows // tile.rows), (a, b, weight.contiguous(), y, sums), numbers, tile[:2], tile.warps)
    return (y, sums), (sums,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, _, weight = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    dy, y_step = as_rows(cotangents[0], width)
    dsum, s_step = as_rows(cotangents[1], width)
    stay = stay_of(rows, width, 3, x.element_size(), x.get_device())
    dx = fresh(x)
    partial = torch.empty((stay.programs, width), dtype=torch.float32, device=x.device) if needed[2] else dx
    numbers = (rows, width, y_step, s_step, scalars[0])
    tensors = (kept[0], weight.contiguous(), dy, dsum, dx, partial)
    _launch_backward(stay.programs, tensors, numbers, (*stay[:3], bool(needed[2])), stay.warps)
    return [dx if needed[0] else None, dx if needed[1] else None, add_programs(partial, weight.dtype) if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda x, residual, weight, eps: [(x.shape, x.dtype), (x.shape, x.dtype)], at_most("D", WIDEST)
)


def run(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> Any:
    """As the reference."""
    return _call((x, residual, weight), (eps,))
