"""Log-probabilities of chosen tokens in Triton. Needs torch and triton.

Bound by memory, in half precision nearly by exponentials as well. Forward: logits read once, R·V elements, no log-softmax written; the log-sum-exp
of every row is kept (R floats). Backward: logits read, their gradient written, 2·R·V, element by element. An index outside [0, V) makes its answer
NaN; nothing outside the row is read.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.online import LONG_BLOCK, LONG_WARPS, lanes_of, largest_and_sum, log_of
from popcorn.ops.tiles import as_rows, fresh, patch_of, tile_of

LANGUAGE = "triton"
IN_REGISTERS = 4096


@triton.jit
def _forward_rows(logits, index, y, exact, rows, width, step, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = lane[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(logits + row.to(tl.int64) * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    top = tl.maximum(tl.max(v, 1), -3.4028234663852886e38)
    answer = log_of(top, tl.sum(tl.exp(v - top[:, None]), 1))
    wanted = tl.load(index + lane, mask=lane < rows, other=-1)
    known = (wanted >= 0) & (wanted < width)
    picked = tl.load(logits + lane.to(tl.int64) * step + wanted, mask=known, other=float("nan")).to(tl.float32)
    tl.store(exact + lane, answer, mask=lane < rows)
    tl.store(y + lane, (picked - answer).to(y.dtype.element_ty), mask=lane < rows)


@triton.jit
def _forward_long(logits, index, y, exact, width, step, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    wanted = tl.load(index + row)
    known = (wanted >= 0) & (wanted < width)
    picked = tl.load(logits + row * step + wanted, mask=known, other=float("nan")).to(tl.float32)
    top, total = largest_and_sum(logits + row * step, width, BLOCK, LANES)
    answer = log_of(top, total)
    tl.store(exact + row, answer)
    tl.store(y + row, (picked - answer).to(y.dtype.element_ty))


@triton.jit
def _backward_rows(logits, index, exact, dy, out, rows, width, step, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # dy (one at the index − softmax)
    blocks = tl.cdiv(width, BLOCK)
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)[None, :]
    answer = tl.load(exact + row, mask=row < rows, other=0.0)[:, None]
    wanted = tl.load(index + row, mask=row < rows, other=-1)[:, None]
    g = tl.load(dy + row, mask=row < rows, other=0.0).to(tl.float32)[:, None]
    row = row[:, None]
    inside = (row < rows) & (column < width)
    v = tl.load(logits + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    slope = (tl.where(column == wanted, 1.0, 0.0) - tl.exp(v - answer)) * g
    tl.store(out + row.to(tl.int64) * width + column, slope.to(out.dtype.element_ty), mask=inside)


_launch_forward, _launch_forward_long = Launcher(_forward_rows), Launcher(_forward_long)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    logits, index = tensors
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    y = logits.new_empty(index.shape)
    exact = logits.new_empty(index.shape, dtype=torch.float32)
    made = (given, index.contiguous(), y, exact)
    if width <= IN_REGISTERS:
        tile = tile_of(width)
        _launch_forward(-(-rows // tile.rows), made, (rows, width, step), tile[:2], tile.warps)
    else:
        _launch_forward_long(rows, made, (width, step), (LONG_BLOCK, lanes_of(logits.element_size())), LONG_WARPS)
    return (y,), (exact,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    logits, index = tensors
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    out = fresh(logits)
    patch = patch_of(rows, width)
    made = (given, index.contiguous(), kept[0], cotangents[0].contiguous(), out)
    _launch_backward(patch.programs, made, (rows, width, step), patch[1:], 4)
    return [out, None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda logits, index: [(index.shape, logits.dtype)])


def run(logits: Tensor, index: Tensor) -> Any:
    """As the reference."""
    return _call((logits, index))
