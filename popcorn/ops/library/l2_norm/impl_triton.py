"""Rows of length one in Triton. Needs torch and triton.

Bound by memory. Forward: x read, y written, 2·R·D elements. Backward: x and dy read, dx written, 3·R·D; the length is made again from the
row in registers.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import at_most, gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import WIDEST, as_rows, fresh, tile_of

LANGUAGE = "triton"


@triton.jit
def _forward_rows(x, y, rows, width, step, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    length = tl.sqrt(tl.sum(v * v, 1))
    out = v * (1.0 / tl.maximum(length, eps))[:, None]
    tl.store(y + row.to(tl.int64) * width + column, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_rows(x, dy, dx, rows, width, x_step, dy_step, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # u = x / max(|x|, eps): dx = (dy − u (u · dy)) / |x|; where eps is the larger, a plain scale
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * x_step + column, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(dy + row.to(tl.int64) * dy_step + column, mask=inside, other=0.0).to(tl.float32)
    length = tl.sqrt(tl.sum(v * v, 1))
    scale = (1.0 / tl.maximum(length, eps))[:, None]
    unit = v * scale
    along = tl.where(length >= eps, tl.sum(unit * g, 1), 0.0)[:, None]
    out = (g - unit * along) * scale
    tl.store(dx + row.to(tl.int64) * width + column, out.to(dx.dtype.element_ty), mask=inside)


_launch_forward = Launcher(_forward_rows)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    (x,) = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    tile = tile_of(width)
    y = fresh(x)
    given, step = as_rows(x, width)
    _launch_forward(-(-rows // tile.rows), (given, y), (rows, width, step, scalars[0]), tile[:2], tile.warps)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (x,) = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    tile = tile_of(width)
    given, x_step = as_rows(x, width)
    dy, dy_step = as_rows(cotangents[0], width)
    dx = fresh(x)
    _launch_backward(-(-rows // tile.rows), (given, dy, dx), (rows, width, x_step, dy_step, scalars[0]), tile[:2], tile.warps)
    return [dx]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, eps: [(x.shape, x.dtype)], at_most("D", WIDEST))


def run(x: Tensor, eps: float = 1e-12) -> Any:
    """As the reference."""
    return _call((x,), (eps,))
