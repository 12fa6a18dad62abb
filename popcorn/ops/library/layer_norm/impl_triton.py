"""Layer norm in Triton. Needs torch and triton.

Bound by memory. Forward: x read, y written, 2·R·D elements; mean, then variance about it, over rows held in registers. Backward: x and dy
read, dx written, 3·R·D; mean and variance are made again from the row in registers. Gradients of weight and bias are summed in registers
by programs that stay, then over programs: deterministic.

Tried in the backward pass: four rounds of waiting a row and no tile on its way reached 54 % of a copy on an H200. Now the mean is one round, the
other three sums another, and the next two tiles come through shared memory meanwhile; 118 registers a thread at D = 4096, nothing spilled.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import at_most, gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.sums import add_programs, sum_3
from popcorn.ops.tiles import WIDEST, as_rows, fresh, stay_of, tile_of

LANGUAGE = "triton"


@triton.jit
def _forward_rows(x, weight, bias, y, rows, width, step, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
    b = tl.load(bias + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
    mean = tl.sum(v, 1) / width
    centred = tl.where(column < width, v - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / width + eps)
    out = centred * scale[:, None] * w + b
    tl.store(y + row.to(tl.int64) * width + column, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_rows(
    x, weight, dy, dx, partial, rows, width, x_step, dy_step, eps,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr, WEIGHT: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    # c = x − mean, s = 1 / deviation, g = dy · weight: dx = s (g − mean(g) − c s² mean(g c)), dweight = Σ dy c s, dbias = Σ dy
    column = tl.arange(0, BLOCK)[None, :]
    if BLOCK <= 8192:
        w = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    for_weight = tl.zeros([ROWS, BLOCK], tl.float32)
    for_bias = tl.zeros([ROWS, BLOCK], tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & (column < width)
        v = tl.load(x + row.to(tl.int64) * x_step + column, mask=inside, other=0.0).to(tl.float32)
        d = tl.load(dy + row.to(tl.int64) * dy_step + column, mask=inside, other=0.0).to(tl.float32)
        if BLOCK > 8192:  # read again for each row: registers are what a long row lacks
            w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
        mean = tl.sum(v, 1) / width
        centred = tl.where(column < width, v - mean[:, None], 0.0)
        g = d * w
        squares, level, along = sum_3(centred * centred, g, g * centred)
        s = tl.rsqrt(squares / width + eps)
        out = s[:, None] * (g - (level / width)[:, None]) - centred * (s * s * s * along / width)[:, None]
        tl.store(dx + row.to(tl.int64) * width + column, out.to(dx.dtype.element_ty), mask=inside)
        if WEIGHT:
            for_weight += d * (centred * s[:, None])
        if BIAS:
            for_bias += d
    lane = tl.arange(0, BLOCK)
    place = partial + tl.program_id(0) * width * (1 if WEIGHT != BIAS else 2) + lane
    if WEIGHT:
        tl.store(place, tl.sum(for_weight, 0), mask=lane < width)
        place += width
    if BIAS:
        tl.store(place, tl.sum(for_bias, 0), mask=lane < width)


_launch_forward = Launcher(_forward_rows)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight, bias = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    tile = tile_of(width)
    y = fresh(x)
    given, step = as_rows(x, width)
    tensors = (given, weight.contiguous(), bias.contiguous(), y)
    _launch_forward(-(-rows // tile.rows), tensors, (rows, width, step, scalars[0]), tile[:2], tile.warps)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, weight, _ = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    given, x_step = as_rows(x, width)
    dy, dy_step = as_rows(cotangents[0], width)
    stay = stay_of(rows, width, 2, x.element_size(), x.get_device())
    dx = fresh(x)
    asked = int(needed[1]) + int(needed[2])
    partial = torch.empty((stay.programs, asked * width), dtype=torch.float32, device=x.device) if asked else dx
    tensors = (given, weight.contiguous(), dy, dx, partial)
    constants = (*stay[:3], bool(needed[1]), bool(needed[2]))
    _launch_backward(stay.programs, tensors, (rows, width, x_step, dy_step, scalars[0]), constants, stay.warps)
    if not asked:
        return [dx, None, None]
    made = iter(add_programs(partial, weight.dtype).view(asked, width).unbind())
    return [dx, next(made) if needed[1] else None, next(made) if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, weight, bias, eps: [(x.shape, x.dtype)], at_most("D", WIDEST))


def run(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Any:
    """As the reference."""
    return _call((x, weight, bias), (eps,))
