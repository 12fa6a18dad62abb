"""Softmax in Triton. Needs torch and triton.

Bound by memory. Forward: x read, y written, 2·R·D elements, rows of up to 32,768 held in registers; longer ones are read twice, the second
time from L2 as a rule (`online`). Backward: y, the forward pass's own output, and dy read, dx written, 3·R·D; longer rows read twice.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.online import LONG_BLOCK, LONG_WARPS, lanes_of, largest_and_sum
from popcorn.ops.tiles import WIDEST, as_rows, fresh, tile_of

LANGUAGE = "triton"


@triton.jit
def _forward_rows(x, y, rows, width, step, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    # lanes beyond the row add nothing; rows beyond the last stay finite
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 1)[:, None])
    out = e * (1.0 / tl.sum(e, 1))[:, None]
    tl.store(y + row.to(tl.int64) * width + column, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _forward_long(x, y, width, step, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top, total = largest_and_sum(x + row * step, width, BLOCK, LANES)
    scale = 1.0 / total
    lane = tl.arange(0, BLOCK)
    for start in range(0, width, BLOCK):
        inside = start + lane < width
        v = tl.load(x + row * step + start + lane, mask=inside, other=-float("inf")).to(tl.float32)
        tl.store(y + row * width + start + lane, (tl.exp(v - top) * scale).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_rows(y, dy, dx, rows, width, dy_step, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # dx = y (dy − Σ y dy)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    p = tl.load(y + row.to(tl.int64) * width + column, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(dy + row.to(tl.int64) * dy_step + column, mask=inside, other=0.0).to(tl.float32)
    out = p * (g - tl.sum(p * g, 1)[:, None])
    tl.store(dx + row.to(tl.int64) * width + column, out.to(dx.dtype.element_ty), mask=inside)


@triton.jit
def _backward_long(y, dy, dx, width, dy_step, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    along = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        inside = start + lane < width
        p = tl.load(y + row * width + start + lane, mask=inside, other=0.0).to(tl.float32)
        along += p * tl.load(dy + row * dy_step + start + lane, mask=inside, other=0.0).to(tl.float32)
    whole = tl.sum(along, 0)
    for start in range(0, width, BLOCK):
        inside = start + lane < width
        p = tl.load(y + row * width + start + lane, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(dy + row * dy_step + start + lane, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx + row * width + start + lane, (p * (g - whole)).to(dx.dtype.element_ty), mask=inside)


_launch_forward, _launch_forward_long = Launcher(_forward_rows), Launcher(_forward_long)
_launch_backward, _launch_backward_long = Launcher(_backward_rows), Launcher(_backward_long)


def _forward(tensors: Any, scalars: Any) -> Any:
    (x,) = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    y = fresh(x)
    given, step = as_rows(x, width)
    if width <= WIDEST:
        tile = tile_of(width)
        _launch_forward(-(-rows // tile.rows), (given, y), (rows, width, step), tile[:2], tile.warps)
    else:
        _launch_forward_long(rows, (given, y), (width, step), (LONG_BLOCK, lanes_of(x.element_size())), LONG_WARPS)
    return (y,), (y,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (y,) = kept
    width = y.shape[-1]
    rows = y.numel() // width
    dy, dy_step = as_rows(cotangents[0], width)
    dx = fresh(y)
    if width <= WIDEST:
        tile = tile_of(width)
        _launch_backward(-(-rows // tile.rows), (y, dy, dx), (rows, width, dy_step), tile[:2], tile.warps)
    else:
        _launch_backward_long(rows, (y, dy, dx), (width, dy_step), (LONG_BLOCK,), LONG_WARPS)
    return [dx]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x: [(x.shape, x.dtype)])


def run(x: Tensor) -> Any:
    """As the reference."""
    return _call((x,), ())
