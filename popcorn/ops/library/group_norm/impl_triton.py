"""Group norm in Triton. Needs torch and triton.

Bound by memory. Forward: x read, y written, 2·B·C·S elements: groups of up to 16,384 elements are held in registers, larger ones read twice, the
second time from L2 as a rule; variance about the mean, or about the group's first element where it is gone along. Mean and scale of each group are
kept (2·B·groups floats). Backward: one kernel sums dy and dy·(x − mean) over each channel, one makes dx from them: x and dy are read twice, dx
written, 5·B·C·S where 3 would do if a group stayed in registers; sums over the batch run in a fixed order.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.sums import add_programs
from popcorn.ops.tiles import power_of_two, tile_of

LANGUAGE = "triton"
IN_REGISTERS = 16384
LONG, LONG_WARPS = 4096, 8
EXACT_BELOW = 1 << 20
"""Elements of a group whose places a product in float32 tells without error."""


@triton.jit
def _channel_of(lane, places, share, EXACT: tl.constexpr):
    # a division by a number that is not known to the compiler costs more than all else here; up to 2²⁰ this product is as exact
    if EXACT:
        return ((lane.to(tl.float32) + 0.5) * share).to(tl.int32)
    return lane // places


@triton.jit
def _forward_held(x, weight, bias, y, kept, size, places, share, groups, channels, eps, EXACT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    inside = lane < size
    v = tl.load(x + row * size + lane, mask=inside, other=0.0).to(tl.float32)
    channel = (row % groups) * channels + _channel_of(lane, places, share, EXACT)
    w = tl.load(weight + channel, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + channel, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / size
    centred = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / size + eps)
    tl.store(kept + 2 * row, mean)
    tl.store(kept + 2 * row + 1, scale)
    tl.store(y + row * size + lane, (centred * scale * w + b).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _forward_long(x, weight, bias, y, kept, size, places, share, groups, channels, eps, EXACT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    middle = tl.load(x + row * size).to(tl.float32)  # sums about it do not cancel as sums about 0 do
    ones, squares = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, size, BLOCK, num_stages=3):
        inside = start + lane < size
        v = tl.load(x + row * size + start + lane, mask=inside, other=0.0).to(tl.float32)
        away = tl.where(inside, v - middle, 0.0)
        ones += away
        squares += away * away
    off = tl.sum(ones, 0) / size
    mean = middle + off
    scale = tl.rsqrt(tl.maximum(tl.sum(squares, 0) / size - off * off, 0.0) + eps)
    tl.store(kept + 2 * row, mean)
    tl.store(kept + 2 * row + 1, scale)
    for start in tl.range(0, size, BLOCK, num_stages=3):
        inside = start + lane < size
        v = tl.load(x + row * size + start + lane, mask=inside, other=0.0).to(tl.float32)
        channel = (row % groups) * channels + _channel_of(start + lane, places, share, EXACT)
        w = tl.load(weight + channel, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(bias + channel, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row * size + start + lane, ((v - mean) * scale * w + b).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _sum_channels(x, dy, kept, sums, rows, places, channels, all_channels, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # of each sample and channel: Σ dy, and Σ dy (x − mean) scale
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    group = row // channels
    mean = tl.load(kept + 2 * group, mask=row < rows, other=0.0)
    scale = tl.load(kept + 2 * group + 1, mask=row < rows, other=0.0)
    lane = tl.arange(0, BLOCK)[None, :]
    at = row.to(tl.int64)[:, None] * places
    plain, along = tl.zeros([ROWS, BLOCK], tl.float32), tl.zeros([ROWS, BLOCK], tl.float32)
    for start in tl.range(0, places, BLOCK, num_stages=3):
        inside = (row < rows)[:, None] & (start + lane < places)
        g = tl.load(dy + at + start + lane, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(x + at + start + lane, mask=inside, other=0.0).to(tl.float32)
        plain += g
        along += g * (v - mean[:, None])
    place = sums + row // all_channels * 2 * all_channels + row % all_channels
    tl.store(place, tl.sum(along, 1) * scale, mask=row < rows)
    tl.store(place + all_channels, tl.sum(plain, 1), mask=row < rows)


@triton.jit
def _backward_groups(
    x, weight, dy, kept, sums, dx, size, places, share, groups, channels, parts,
    EXACT: tl.constexpr, BLOCK: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    # u = (x − mean) s, g = dy · weight: dx = s (g − mean(g) − u mean(g u))
    row = (tl.program_id(0) // parts).to(tl.int64)
    mean, scale = tl.load(kept + 2 * row), tl.load(kept + 2 * row + 1)
    all_channels = groups * channels
    member = tl.arange(0, CHANNELS)
    mine = row % groups * channels + member
    w = tl.load(weight + mine, mask=member < channels, other=0.0).to(tl.float32)
    place = sums + row // groups * 2 * all_channels + mine
    along = tl.sum(w * tl.load(place, mask=member < channels, other=0.0), 0) / size
    level = tl.sum(w * tl.load(place + all_channels, mask=member < channels, other=0.0), 0) / size
    lane = tl.program_id(0) % parts * BLOCK + tl.arange(0, BLOCK)
    inside = lane < size
    v = tl.load(x + row * size + lane, mask=inside, other=0.0).to(tl.float32)
    d = tl.load(dy + row * size + lane, mask=inside, other=0.0).to(tl.float32)
    g = d * tl.load(weight + row % groups * channels + _channel_of(lane, places, share, EXACT), mask=inside, other=0.0).to(tl.float32)
    out = scale * (g - level - (v - mean) * scale * along)
    tl.store(dx + row * size + lane, out.to(dx.dtype.element_ty), mask=inside)


_launch_held, _launch_long = Launcher(_forward_held), Launcher(_forward_long)
_launch_sums, _launch_backward = Launcher(_sum_channels), Launcher(_backward_groups)


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight, bias = tensors[0].contiguous(), tensors[1].contiguous(), tensors[2].contiguous()
    groups, (samples, all_channels, places) = int(scalars[0]), x.shape
    channels = all_channels // groups
    size = channels * places
    y, kept = torch.empty_like(x), torch.empty((samples * groups, 2), dtype=torch.float32, device=x.device)
    made, numbers = (x, weight, bias, y, kept), (size, places, 1.0 / places, groups, channels, scalars[1])
    if size <= IN_REGISTERS:
        block = max(128, power_of_two(size))
        _launch_held(samples * groups, made, numbers, (size < EXACT_BELOW, block), min(32, max(4, block // 512)))
    else:
        _launch_long(samples * groups, made, numbers, (size < EXACT_BELOW, LONG), LONG_WARPS)
    return (y,), (kept,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, weight, dy = tensors[0].contiguous(), tensors[1].contiguous(), cotangents[0].contiguous()
    groups, (samples, all_channels, places) = int(scalars[0]), x.shape
    channels = all_channels // groups
    size = channels * places
    sums = torch.empty((samples, 2 * all_channels), dtype=torch.float32, device=x.device)
    tile = tile_of(min(places, 4096))
    rows = samples * all_channels
    _launch_sums(-(-rows // tile.rows), (x, dy, kept[0], sums), (rows, places, channels, all_channels), tile[:2], tile.warps)
    dx = torch.empty_like(x) if needed[0] else None
    if dx is not None:
        block = min(2048, max(128, power_of_two(size)))
        parts = -(-size // block)
        numbers = (size, places, 1.0 / places, groups, channels, parts)
        constants = (size < EXACT_BELOW, block, power_of_two(channels))
        _launch_backward(samples * groups * parts, (x, weight, dy, kept[0], sums, dx), numbers, constants, 4)
    if not (needed[1] or needed[2]):
        return [dx, None, None]
    dweight, dbias = add_programs(sums, weight.dtype).view(2, all_channels).unbind()
    return [dx, dweight if needed[1] else None, dbias if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, weight, bias, groups, eps: [(x.shape, x.dtype)])


def run(x: Tensor, weight: Tensor, bias: Tensor, groups: int = 32, eps: float = 1e-5) -> Any:
    """As the reference."""
    return _call((x, weight, bias), (groups, eps))
