"""Rotary embedding in Triton. Needs torch and triton.

Bound by memory. Forward: x read, the answer written, 2·R·T·K elements; the tables of a position are read once for four rows, from L2 as a rule
(read for every row they were twice x's own traffic there, and the backward pass 87 % of a copy on an H200). x may be a
transposed view, as attention has it: steps of up to three leading sizes are taken as they are. Backward: the cotangent read, dx written,
2·R·T·K, by the same kernel turned back; gradients of the tables, which training rarely asks for, are sums over rows in a fixed order.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import fresh, power_of_two

LANGUAGE = "triton"
_TILE = 1024
"""Elements of half heads that a program takes of a row."""
_ROWS = 4
"""Rows that a program turns by one reading of the tables."""


@triton.jit
def _rotate(
    x, cos, sin, y, rows, times, half, heads, batch_step, head_step, time_step,
    BACK: tl.constexpr, ROWS: tl.constexpr, TIMES: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(times, TIMES)
    # positions first: so Triton spreads them over threads, and a thread has all ROWS rows of one position beside one piece of the tables
    time = tl.program_id(0) % blocks * TIMES + tl.arange(0, TIMES)[:, None, None]
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)[None, :, None]
    lane = tl.arange(0, HALF)[None, None, :]
    known = (time < times) & (lane < half)
    inside = known & (row < rows)
    start = (row // heads).to(tl.int64) * batch_step + (row % heads).to(tl.int64) * head_step
    at = x + start + time.to(tl.int64) * time_step + lane
    table = time.to(tl.int64) * 2 * half + lane
    first, second = tl.load(at, mask=inside).to(tl.float32), tl.load(at + half, mask=inside).to(tl.float32)
    cos_1, cos_2 = tl.load(cos + table, mask=known).to(tl.float32), tl.load(cos + table + half, mask=known).to(tl.float32)
    sin_1, sin_2 = tl.load(sin + table, mask=known).to(tl.float32), tl.load(sin + table + half, mask=known).to(tl.float32)
    if BACK:
        one, other = first * cos_1 + second * sin_2, second * cos_2 - first * sin_1
    else:
        one, other = first * cos_1 - second * sin_1, second * cos_2 + first * sin_2
    out = y + row.to(tl.int64) * times * 2 * half + table
    tl.store(out, one.to(y.dtype.element_ty), mask=inside)
    tl.store(out + half, other.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _tables(x, dy, dcos, dsin, rows, times, half, heads, batch_step, head_step, time_step, TIMES: tl.constexpr, HALF: tl.constexpr):
    # dcos = Σ dy x, dsin = Σ dy rotate_half(x), over rows
    time = tl.program_id(0) * TIMES + tl.arange(0, TIMES)[:, None]
    lane = tl.arange(0, HALF)[None, :]
    inside = (time < times) & (lane < half)
    table = time.to(tl.int64) * 2 * half + lane
    cos_1, cos_2 = tl.zeros([TIMES, HALF], tl.float32), tl.zeros([TIMES, HALF], tl.float32)
    sin_1, sin_2 = tl.zeros([TIMES, HALF], tl.float32), tl.zeros([TIMES, HALF], tl.float32)
    for index in range(rows):
        row = index + tl.zeros([1, 1], tl.int64)
        start = (row // heads) * batch_step + (row % heads) * head_step
        at = x + start + time.to(tl.int64) * time_step + lane
        first = tl.load(at, mask=inside, other=0.0).to(tl.float32)
        second = tl.load(at + half, mask=inside, other=0.0).to(tl.float32)
        slope = dy + row * times * 2 * half + table
        one = tl.load(slope, mask=inside, other=0.0).to(tl.float32)
        other = tl.load(slope + half, mask=inside, other=0.0).to(tl.float32)
        cos_1 += one * first
        cos_2 += other * second
        sin_1 -= one * second
        sin_2 += other * first
    tl.store(dcos + table, cos_1.to(dcos.dtype.element_ty), mask=inside)
    tl.store(dcos + table + half, cos_2.to(dcos.dtype.element_ty), mask=inside)
    tl.store(dsin + table, sin_1.to(dsin.dtype.element_ty), mask=inside)
    tl.store(dsin + table + half, sin_2.to(dsin.dtype.element_ty), mask=inside)


_launch_rotate, _launch_tables = Launcher(_rotate), Launcher(_tables)


def _steps(x: Tensor) -> tuple[Tensor, int, tuple[int, int, int]]:
    """(x, heads, steps of batch, head and time); copied only where its last size is not dense or it has more than four sizes."""
    if (x.stride(-1) != 1 and x.shape[-1] > 1) or (x.dim() > 4 and not x.is_contiguous()):
        x = x.contiguous()
    if x.dim() > 4:
        x = x.view(-1, *x.shape[-3:])
    shape, steps = x.shape, x.stride()
    missing = 4 - len(shape)
    heads = shape[-3] if missing < 2 else 1
    return x, heads, (steps[0] if missing < 1 else 0, steps[-3] if missing < 2 else 0, steps[-2])


def _turn(x: Tensor, cos: Tensor, sin: Tensor, back: bool) -> Tensor:
    y = fresh(x)
    times, half = x.shape[-2], x.shape[-1] // 2
    given, heads, steps = _steps(x)
    width = power_of_two(half)
    height = max(1, min(_TILE // width, power_of_two(times)))
    rows = x.numel() // (times * 2 * half)
    deep = min(_ROWS, power_of_two(rows))
    programs = -(-rows // deep) * -(-times // height)
    tensors = (given, cos.contiguous(), sin.contiguous(), y)
    _launch_rotate(programs, tensors, (rows, times, half, heads, *steps), (back, deep, height, width), 4)
    return y


def _forward(tensors: Any, scalars: Any) -> Any:
    x, cos, sin = tensors
    return (_turn(x, cos, sin, False),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, cos, sin = tensors
    dx = _turn(cotangents[0], cos, sin, True) if needed[0] else None
    if not (needed[1] or needed[2]):
        return [dx, None, None]
    times, half = x.shape[-2], x.shape[-1] // 2
    given, heads, steps = _steps(x)
    width = power_of_two(half)
    height = max(1, min(256 // width, power_of_two(times)))  # few positions a program: there are no rows to spread over
    dcos = fresh(cos)
    dsin = fresh(sin)
    rows = x.numel() // (times * 2 * half)
    tensors = (given, cotangents[0].contiguous(), dcos, dsin)
    _launch_tables(-(-times // height), tensors, (rows, times, half, heads, *steps), (height, width), 4)
    return [dx, dcos if needed[1] else None, dsin if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, cos, sin: [(x.shape, x.dtype)])


def run(x: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """As the reference."""
    return _call((x, cos, sin), ())
