"""Log-sum-exp in Triton. Needs torch and triton.

Bound by memory, in half precision nearly by exponentials as well. Forward: x read once, R·D elements; short rows several to a program, each group of
neighbours with a largest value and a sum of its own, so that exponentials are done before the row is waited for. On an H200 programs of 1 to 8 warps and
of 16 to 128 elements a thread, with all loads first or not, are alike within a tenth (programs that stay, with the next tiles on their way: a tenth to a
quarter slower); Triton's exp, four instructions longer than exp2, cost as much; rows over 8,192 in steps (`online`). Backward: x
read, dx written, 2·R·D, from the answer kept in float32; element-wise, so any length runs at the speed of a copy.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.online import LONG_BLOCK, LONG_WARPS, lanes_of, largest_and_sum, largest_and_sum_of, log_of
from popcorn.ops.tiles import as_rows, fresh, patch_of, power_of_two

LANGUAGE = "triton"
IN_REGISTERS = 8192
"""Longest row that is held at once; a longer one is gone along, which needs no more than one reading either."""


PER_THREAD, ELEMENTS = 32, 4096
"""Elements that a thread has, and that a program has at least."""


@triton.jit
def _forward_rows(x, y, exact, rows, width, step, EXACT: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = lane[:, None, None]
    column = tl.arange(0, BLOCK // LANES)[None, :, None] * LANES + tl.arange(0, LANES)[None, None, :]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=-float("inf")).to(tl.float32)
    m, total = largest_and_sum_of(v)
    answer = log_of(m, total)
    tl.store(y + lane, answer.to(y.dtype.element_ty), mask=lane < rows)
    if EXACT:
        tl.store(exact + lane, answer, mask=lane < rows)


@triton.jit
def _forward_long(x, y, exact, width, step, EXACT: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top, total = largest_and_sum(x + row * step, width, BLOCK, LANES)
    answer = log_of(top, total)
    tl.store(y + row, answer.to(y.dtype.element_ty))
    if EXACT:
        tl.store(exact + row, answer)


@triton.jit
def _backward_rows(x, exact, dy, dx, rows, width, step, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # dx = exp(x − logsumexp) dy
    blocks = tl.cdiv(width, BLOCK)
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)[None, :]
    answer = tl.load(exact + row, mask=row < rows, other=0.0)[:, None]
    g = tl.load(dy + row, mask=row < rows, other=0.0).to(tl.float32)[:, None]
    row = row[:, None]
    inside = (row < rows) & (column < width)
    v = tl.load(x + row.to(tl.int64) * step + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(dx + row.to(tl.int64) * width + column, (tl.exp(v - answer) * g).to(dx.dtype.element_ty), mask=inside)


_launch_forward, _launch_forward_long = Launcher(_forward_rows), Launcher(_forward_long)
_launch_backward = Launcher(_backward_rows)


def _forward(tensors: Any, scalars: Any, needed: Any = (True,)) -> Any:
    (x,) = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    y = x.new_empty(x.shape[:-1])
    apart = bool(needed[0]) and x.dtype != torch.float32
    exact = x.new_empty(x.shape[:-1], dtype=torch.float32) if apart else y
    given, step = as_rows(x, width)
    if width <= IN_REGISTERS:
        block = max(16, power_of_two(width))
        high = max(1, ELEMENTS // block)
        warps = max(1, high * block // (32 * PER_THREAD))
        constants = (apart, high, block, lanes_of(x.element_size()))
        _launch_forward(-(-rows // high), (given, y, exact), (rows, width, step), constants, warps)
    else:
        _launch_forward_long(rows, (given, y, exact), (width, step), (apart, LONG_BLOCK, lanes_of(x.element_size())), LONG_WARPS)
    return (y,), (exact,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (x,) = tensors
    width = x.shape[-1]
    rows = x.numel() // width
    given, step = as_rows(x, width)
    dx = fresh(x)
    patch = patch_of(rows, width)
    _launch_backward(patch.programs, (given, kept[0], cotangents[0].contiguous(), dx), (rows, width, step), patch[1:], 4)
    return [dx]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x: [(x.shape[:-1], x.dtype)], takes_needed=True)


def run(x: Tensor) -> Any:
    """As the reference."""
    return _call((x,), ())
