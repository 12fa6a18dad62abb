"""Rotary embedding from positions in Triton. Needs torch and triton.

Bound by memory. Forward: x read, the answer written, 2·B·H·T·K elements; a program makes the angles of its positions once for four heads, in float64
down to one turn and in float32 from there: what a position of 131,072 needs, for three float64 operations an angle. x may be a transposed view, as
attention has it. Backward: the cotangent turned back by the same kernel.
"""

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import fresh, power_of_two

LANGUAGE = "triton"
_TILE, _HEADS = 1024, 4
"""Elements of half heads that a program takes of a head, and heads."""
_TURN = tl.constexpr(6.283185307179586)


@triton.jit
def _rotate(
    x, positions, rates, y, heads, times, half, batch_step, head_step, time_step,
    BACK: tl.constexpr, HEADS: tl.constexpr, TIMES: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    blocks, many = tl.cdiv(times, TIMES), tl.cdiv(heads, HEADS)
    batch = tl.program_id(0) // (blocks * many)
    # positions first, as in rope: a thread has all heads of one position
    time = tl.program_id(0) % blocks * TIMES + tl.arange(0, TIMES)[:, None, None]
    head = tl.program_id(0) // blocks % many * HEADS + tl.arange(0, HEADS)[None, :, None]
    lane = tl.arange(0, HALF)[None, None, :]
    known = (time < times) & (lane < half)
    inside = known & (head < heads)
    at = x + batch.to(tl.int64) * batch_step + head.to(tl.int64) * head_step + time.to(tl.int64) * time_step + lane
    first, second = tl.load(at, mask=inside).to(tl.float32), tl.load(at + half, mask=inside).to(tl.float32)
    position = tl.load(positions + batch.to(tl.int64) * times + time, mask=time < times, other=0).to(tl.float64)
    angle = position * tl.load(rates + lane, mask=lane < half, other=0.0)
    angle -= tl.floor(angle * (1.0 / _TURN) + 0.5) * _TURN
    cosine, sine = tl.cos(angle.to(tl.float32)), tl.sin(angle.to(tl.float32))
    if BACK:
        sine = -sine
    out = y + ((batch.to(tl.int64) * heads + head) * times + time) * 2 * half + lane
    tl.store(out, (first * cosine - second * sine).to(y.dtype.element_ty), mask=inside)
    tl.store(out + half, (second * cosine + first * sine).to(y.dtype.element_ty), mask=inside)


_launch = Launcher(_rotate)


@functools.lru_cache(64)
def _rates(half: int, theta: float, device: torch.device) -> Tensor:
    """theta^(−i / half) in float64."""
    return theta ** (-torch.arange(half, device=device, dtype=torch.float64) / half)


def _turn(x: Tensor, positions: Tensor, theta: float, back: bool) -> Tensor:
    given = x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()
    batches, heads, times, wide = x.shape
    half = wide // 2
    width = power_of_two(half)
    height, deep = max(1, min(_TILE // width, power_of_two(times))), min(_HEADS, power_of_two(heads))
    y = fresh(x)
    programs = batches * -(-heads // deep) * -(-times // height)
    tensors = (given, positions.contiguous(), _rates(half, theta, x.device), y)
    _launch(programs, tensors, (heads, times, half, *given.stride()[:3]), (back, deep, height, width), 4)
    return y


def _forward(tensors: Any, scalars: Any) -> Any:
    x, positions = tensors
    return (_turn(x, positions, scalars[0], False),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    return [_turn(cotangents[0], tensors[1], scalars[0], True), None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, positions, theta: [(x.shape, x.dtype)])


def run(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Any:
    """As the reference."""
    return _call((x, positions), (theta,))
