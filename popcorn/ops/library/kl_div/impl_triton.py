"""KL divergence in Triton. Needs torch and triton.

Bound by memory. Forward: both inputs read once, 2·R·V elements, nothing of their size written: programs that stay each keep one sum, a last
program adds them in a fixed order. Backward: both read, the asked gradients written.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.sums import mean_of
from popcorn.ops.tiles import as_spans, block_of, fresh, persistent

LANGUAGE = "triton"


@triton.jit
def _forward_spans(log_q, log_p, sums, spans, width, q_step, p_step, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(tl.program_id(0), spans * blocks, tl.num_programs(0)):
        span = (part // blocks).to(tl.int64)
        column = (part % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = column < width
        q = tl.load(log_q + span * q_step + column, mask=inside, other=0.0).to(tl.float32)
        p = tl.load(log_p + span * p_step + column, mask=inside, other=0.0).to(tl.float32)
        total += tl.exp(p) * (p - q)
    tl.store(sums + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def _backward_spans(
    log_q, log_p, dloss, dq, dp, spans, width, q_step, p_step, rows, FOR_Q: tl.constexpr, FOR_P: tl.constexpr, BLOCK: tl.constexpr
):
    # of one element: dq = −p / R, dp = p (log p − log q + 1) / R
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    scale = tl.load(dloss).to(tl.float32) / rows
    p = tl.load(log_p + span * p_step + column, mask=inside).to(tl.float32)
    mass = tl.exp(p) * scale
    if FOR_Q:
        tl.store(dq + span * width + column, (-mass).to(dq.dtype.element_ty), mask=inside)
    if FOR_P:
        q = tl.load(log_q + span * q_step + column, mask=inside).to(tl.float32)
        tl.store(dp + span * width + column, (mass * (p - q + 1.0)).to(dp.dtype.element_ty), mask=inside)


_launch_forward, _launch_backward = Launcher(_forward_spans), Launcher(_backward_spans)


def _forward(tensors: Any, scalars: Any) -> Any:
    log_q, log_p = tensors
    given, steps, spans, width = as_spans((log_q, log_p), log_q.shape[-1])
    block = block_of(width)
    programs = persistent(spans * -(-width // block), 4, log_q.get_device())
    sums = torch.empty((programs,), dtype=torch.float32, device=log_q.device)
    _launch_forward(programs, (*given, sums), (spans, width, *steps), (block,), 4)
    return (mean_of(sums, log_q.dtype, programs, log_q.numel() // log_q.shape[-1]),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    log_q, log_p = tensors
    made = [fresh(one) if wanted else None for one, wanted in zip(tensors, needed, strict=True)]
    given, steps, spans, width = as_spans((log_q, log_p), log_q.shape[-1])
    block = block_of(width)
    any_made = next(one for one in made if one is not None)
    tensors = (*given, cotangents[0], *[any_made if one is None else one for one in made])
    numbers = (spans, width, *steps, float(log_q.numel() // log_q.shape[-1]))
    _launch_backward(spans * -(-width // block), tensors, numbers, (bool(needed[0]), bool(needed[1]), block), 4)
    return made


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda log_q, log_p: [((), log_q.dtype)])


def run(log_q: Tensor, log_p: Tensor) -> Any:
    """As the reference."""
    return _call((log_q, log_p), ())
