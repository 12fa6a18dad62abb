"""Cross entropy in Triton. Needs torch and triton.

Bound by memory, in half precision nearly by exponentials as well. Forward: logits read once, R·V elements, no log-softmax written; the
log-sum-exp of every row is kept (R floats). Backward: logits read, their gradient written, 2·R·V, element by element. Sums over rows run in
a fixed order. A target outside [0, V) that is not −100 makes the loss NaN; nothing outside the row is read.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.online import LONG_BLOCK, LONG_WARPS, lanes_of, largest_and_sum, log_of
from popcorn.ops.sums import mean_of_counted
from popcorn.ops.tiles import as_rows, fresh, patch_of, tile_of

LANGUAGE = "triton"
IN_REGISTERS = 4096
_LEFT_OUT = tl.constexpr(-100)


@triton.jit
def _forward_rows(logits, target, sums, loss, rows, width, step, ALONE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = lane[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(logits + row.to(tl.int64) * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    top = tl.maximum(tl.max(v, 1), -3.4028234663852886e38)
    answer = log_of(top, tl.sum(tl.exp(v - top[:, None]), 1))
    wanted = tl.load(target + lane, mask=lane < rows, other=_LEFT_OUT)
    known = (wanted >= 0) & (wanted < width)
    picked = tl.load(logits + lane.to(tl.int64) * step + wanted, mask=known, other=float("nan")).to(tl.float32)
    counted = wanted != _LEFT_OUT
    tl.store(sums + lane, answer, mask=lane < rows)
    whole, number = tl.sum(tl.where(counted, answer - picked, 0.0), 0), tl.sum(counted.to(tl.float32), 0)
    if ALONE:
        tl.store(sums + rows, number)
        tl.store(loss, (whole / number).to(loss.dtype.element_ty))
    else:
        place = sums + rows + tl.program_id(0)
        tl.store(place, whole)
        tl.store(place + tl.num_programs(0), number)


@triton.jit
def _forward_long(logits, target, sums, rows, width, step, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    wanted = tl.load(target + row)
    known = (wanted >= 0) & (wanted < width)
    picked = tl.load(logits + row * step + wanted, mask=known, other=float("nan")).to(tl.float32)
    top, total = largest_and_sum(logits + row * step, width, BLOCK, LANES)
    answer = log_of(top, total)
    counted = wanted != _LEFT_OUT
    tl.store(sums + row, answer)
    tl.store(sums + rows + row, tl.where(counted, answer - picked, 0.0))
    tl.store(sums + 2 * rows + row, counted.to(tl.float32))


@triton.jit
def _backward_rows(logits, target, sums, dloss, out, rows, width, step, counted, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # (softmax − one at the target) dloss / count
    blocks = tl.cdiv(width, BLOCK)
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)[None, :]
    answer = tl.load(sums + row, mask=row < rows, other=0.0)[:, None]
    wanted = tl.load(target + row, mask=row < rows, other=_LEFT_OUT)[:, None]
    scale = tl.load(dloss).to(tl.float32) / tl.load(sums + counted)
    row = row[:, None]
    inside = (row < rows) & (column < width)
    v = tl.load(logits + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    slope = tl.exp(v - answer) - tl.where(column == wanted, 1.0, 0.0)
    slope = tl.where(wanted == _LEFT_OUT, 0.0, slope * scale)
    tl.store(out + row.to(tl.int64) * width + column, slope.to(out.dtype.element_ty), mask=inside)


_launch_forward, _launch_forward_long = Launcher(_forward_rows), Launcher(_forward_long)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any) -> Any:
    logits, target = tensors
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    tile = tile_of(width)
    programs = -(-rows // tile.rows) if width <= IN_REGISTERS else rows
    alone = programs == 1 and width <= IN_REGISTERS
    # log-sum-exp of each row, losses of each program, rows counted by each program, and how many in all; of a program that is alone the last only
    sums = logits.new_empty((rows + (0 if alone else 2 * programs) + 1,), dtype=torch.float32)
    made = (given, target.contiguous(), sums)
    if width <= IN_REGISTERS:
        loss = logits.new_empty(()) if alone else sums
        _launch_forward(programs, (*made, loss), (rows, width, step), (alone, *tile[:2]), tile.warps)
        if alone:
            return (loss,), (sums,)
    else:
        _launch_forward_long(programs, made, (rows, width, step), (LONG_BLOCK, lanes_of(logits.element_size())), LONG_WARPS)
    return (mean_of_counted(sums, logits.dtype, rows, programs),), (sums,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    logits, target = tensors
    (sums,) = kept
    width = logits.shape[-1]
    rows = logits.numel() // width
    given, step = as_rows(logits, width)
    out = fresh(logits)
    patch = patch_of(rows, width)
    tensors = (given, target.contiguous(), sums, cotangents[0], out)
    _launch_backward(patch.programs, tensors, (rows, width, step, sums.numel() - 1), patch[1:], 4)
    return [out, None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda logits, target: [((), logits.dtype)])


def run(logits: Tensor, target: Tensor) -> Any:
    """As the reference."""
    return _call((logits, target), ())
