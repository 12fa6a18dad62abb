"""A causal convolution of each channel in Triton. Needs torch and triton.

Bound by memory. Forward: x read, the answer written, 2·B·D·T elements; the W − 1 shifted readings beside the first come from L1, and as they are not
aligned they are what keeps half precision from the speed of a copy. Backward: x and the cotangent read, the slope before silu written in float32 while
weights' and bias' gradients are summed for each channel and sample, then that slope read and dx written; sums over samples run in a fixed order.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.sums import add_programs
from popcorn.ops.tiles import fresh, power_of_two

LANGUAGE = "triton"
WIDEST = 8
_TILE, _TIMES = 2048, 1024


@triton.jit
def _before(x, weight, bias, channel, time, known, times, W: tl.constexpr):
    # x: the rows' beginnings; what silu is given
    total = tl.load(bias + channel, mask=known, other=0.0).to(tl.float32)[:, None]
    for w in tl.static_range(W):
        at = time - (W - 1) + w
        v = tl.load(x + at, mask=known[:, None] & (at >= 0) & (at < times), other=0.0).to(tl.float32)
        total += v * tl.load(weight + channel * W + w, mask=known, other=0.0).to(tl.float32)[:, None]
    return total


@triton.jit
def _forward_tiles(
    x, weight, bias, y, rows, channels, times, batch_step, channel_step, W: tl.constexpr, ROWS: tl.constexpr, TIMES: tl.constexpr
):
    blocks = tl.cdiv(times, TIMES)
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)
    time = tl.program_id(0) % blocks * TIMES + tl.arange(0, TIMES)[None, :]
    known, channel = row < rows, row % channels
    start = (row // channels).to(tl.int64) * batch_step + channel.to(tl.int64) * channel_step
    a = _before(x + start[:, None], weight, bias, channel, time, known, times, W)
    out = a / (1.0 + tl.exp(-a))
    tl.store(y + row.to(tl.int64)[:, None] * times + time, out.to(y.dtype.element_ty), mask=known[:, None] & (time < times))


@triton.jit
def _slopes(
    x, weight, bias, dy, slope, sums, rows, channels, times, batch_step, channel_step,
    dy_batch_step, dy_channel_step, W: tl.constexpr, ROWS: tl.constexpr, TIMES: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    # of what silu is given, of each weight and of the bias: sums lie as (sample, channel, W weights and the bias)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    known, channel = row < rows, row % channels
    start = ((row // channels).to(tl.int64) * batch_step + channel.to(tl.int64) * channel_step)[:, None]
    above = ((row // channels).to(tl.int64) * dy_batch_step + channel.to(tl.int64) * dy_channel_step)[:, None]
    which = tl.arange(0, SUMS)[None, :]
    total = tl.zeros([ROWS, SUMS], tl.float32)
    for first in range(0, times, TIMES):
        time = first + tl.arange(0, TIMES)[None, :]
        inside = known[:, None] & (time < times)
        a = _before(x + start, weight, bias, channel, time, known, times, W)
        s = 1.0 / (1.0 + tl.exp(-a))
        g = tl.load(dy + above + time, mask=inside, other=0.0).to(tl.float32) * s * (1.0 + a * (1.0 - s))
        tl.store(slope + row.to(tl.int64)[:, None] * times + time, g, mask=inside)
        for w in tl.static_range(W):
            at = time - (W - 1) + w
            v = tl.load(x + start + at, mask=inside & (at >= 0), other=0.0).to(tl.float32)
            total += tl.where(which == w, tl.sum(g * v, 1)[:, None], 0.0)
        total += tl.where(which == W, tl.sum(g, 1)[:, None], 0.0)
    tl.store(sums + row[:, None] * (W + 1) + which, total, mask=known[:, None] & (which <= W))


@triton.jit
def _back(slope, weight, dx, rows, channels, times, W: tl.constexpr, ROWS: tl.constexpr, TIMES: tl.constexpr):
    blocks = tl.cdiv(times, TIMES)
    row = tl.program_id(0) // blocks * ROWS + tl.arange(0, ROWS)
    time = tl.program_id(0) % blocks * TIMES + tl.arange(0, TIMES)[None, :]
    known, channel = row < rows, row % channels
    place = row.to(tl.int64)[:, None] * times + time
    total = tl.zeros([ROWS, TIMES], tl.float32)
    for w in tl.static_range(W):
        g = tl.load(slope + place + (W - 1 - w), mask=known[:, None] & (time + (W - 1 - w) < times), other=0.0)
        total += g * tl.load(weight + channel * W + w, mask=known, other=0.0).to(tl.float32)[:, None]
    tl.store(dx + place, total.to(dx.dtype.element_ty), mask=known[:, None] & (time < times))


_launch_forward, _launch_slopes, _launch_back = Launcher(_forward_tiles), Launcher(_slopes), Launcher(_back)


def _dense(t: Tensor) -> Tensor:
    return t if t.stride(2) == 1 or t.shape[2] == 1 else t.contiguous()


def _tile(rows: int, times: int) -> tuple[int, int, int]:
    """(rows, positions, programs)."""
    long = min(_TIMES, max(16, power_of_two(times)))
    high = min(_TILE // long, power_of_two(rows))
    return high, long, -(-rows // high)


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight, bias = _dense(tensors[0]), tensors[1].contiguous(), tensors[2].contiguous()
    batches, channels, times = x.shape
    high, long, programs = _tile(batches * channels, times)
    y = x.new_empty(x.shape)
    numbers = (batches * channels, channels, times, *x.stride()[:2])
    _launch_forward(programs * -(-times // long), (x, weight, bias, y), numbers, (weight.shape[1], high, long), 4)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, weight, bias, dy = _dense(tensors[0]), tensors[1].contiguous(), tensors[2].contiguous(), _dense(cotangents[0])
    (batches, channels, times), width = x.shape, weight.shape[1]
    rows = batches * channels
    high, long, programs = _tile(rows, times)
    slope = torch.empty((batches, channels, times), dtype=torch.float32, device=x.device)
    sums = slope.new_empty((batches, channels * (width + 1)))
    numbers = (rows, channels, times, *x.stride()[:2], *dy.stride()[:2])
    _launch_slopes(programs, (x, weight, bias, dy, slope, sums), numbers, (width, high, long, power_of_two(width + 1)), 4)
    dx = None
    if needed[0]:
        dx = fresh(x)
        _launch_back(programs * -(-times // long), (slope, weight, dx), (rows, channels, times), (width, high, long), 4)
    if not (needed[1] or needed[2]):
        return [dx, None, None]
    both = add_programs(sums, weight.dtype).view(channels, width + 1)
    return [dx, both[:, :width].contiguous() if needed[1] else None, both[:, width].contiguous() if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda x, weight, bias: [(x.shape, x.dtype)], needs(W=(1, WIDEST))
)  # fmt: skip


def run(x: Tensor, weight: Tensor, bias: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight, bias))
