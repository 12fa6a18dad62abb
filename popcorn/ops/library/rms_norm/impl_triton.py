"""RMS norm in Triton. Needs torch and triton.

Bound by memory. Forward: x read, y written, 2·R·D elements; a program holds whole rows in registers, so x is read once. Backward: x and dy
read, dx written, 3·R·D; 1 / rms is made again from the row that is in registers anyway, so nothing is kept from the forward pass. The
weight's gradient is summed in registers by programs that stay (two of eight warps on a multiprocessor at D = 4096), then over programs:
deterministic, and its traffic (programs · D · 8 bytes) stays in L2.

Tried in the backward pass: more programs without tiles on their way reached 63 % of a copy on an H200 (a row was asked for only when the one
before it was done, and both sums were waited for one after the other). Now the next two tiles come through shared memory meanwhile, and the
two sums of a row are one round of waiting. 106 registers a thread at D = 4096 in bfloat16, nothing spilled.
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
def _forward_rows(x, weight, y, rows, width, step, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 1) / width + eps)
    out = v * scale[:, None] * w
    tl.store(y + row.to(tl.int64) * width + column, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_rows(
    x, weight, dy, dx, partial, rows, width, x_step, dy_step, eps,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr, WEIGHT: tl.constexpr,
):  # fmt: skip
    # g = dy · weight, s = 1 / rms: dx = s (g − x s² mean(g x)), dweight = Σ dy x s
    column = tl.arange(0, BLOCK)[None, :]
    if BLOCK <= 8192:
        w = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & (column < width)
        v = tl.load(x + row.to(tl.int64) * x_step + column, mask=inside, other=0.0).to(tl.float32)
        d = tl.load(dy + row.to(tl.int64) * dy_step + column, mask=inside, other=0.0).to(tl.float32)
        if BLOCK > 8192:  # read again for each row: registers are what a long row lacks
            w = tl.load(weight + column, mask=column < width, other=0.0, eviction_policy="evict_last").to(tl.float32)
        g = d * w
        squares, along = sum_2(v * v, g * v)
        s = tl.rsqrt(squares / width + eps)
        out = s[:, None] * g - v * (s * s * s * along / width)[:, None]
        tl.store(dx + row.to(tl.int64) * width + column, out.to(dx.dtype.element_ty), mask=inside)
        if WEIGHT:
            total += d * (v * s[:, None])
    if WEIGHT:
        lane = tl.arange(0, BLOCK)
        tl.store(partial + tl.program_id(0) * width + lane, tl.sum(total, 0), mask=lane < width)


_launch_forward = Launcher(_forward_rows)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    tile = tile_of(width)
    y = fresh(x)
    given, step = as_rows(x, width)
    _launch_forward(-(-rows // tile.rows), (given, weight.contiguous(), y), (rows, width, step, scalars[0]), tile[:2], tile.warps)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, weight = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    given, x_step = as_rows(x, width)
    dy, dy_step = as_rows(cotangents[0], width)
    stay = stay_of(rows, width, 2, x.element_size(), x.get_device())
    dx = fresh(x)
    partial = torch.empty((stay.programs, width), dtype=torch.float32, device=x.device) if needed[1] else dx
    numbers = (rows, width, x_step, dy_step, scalars[0])
    _launch_backward(stay.programs, (given, weight.contiguous(), dy, dx, partial), numbers, (*stay[:3], bool(needed[1])), stay.warps)
    return [dx, add_programs(partial, weight.dtype) if needed[1] else None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, weight, eps: [(x.shape, x.dtype)], at_most("D", WIDEST))


def run(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Any:
    """As the reference."""
    return _call((x, weight), (eps,))
