"""Generalised Jensen-Shannon divergence in Triton. Needs torch and triton.

Bound by memory, in half precision nearly by exponentials and logarithms as well: three of them an element. Forward: both inputs read once, 2·R·V
elements, nothing of their size written: programs that stay each keep one sum, a last program adds them in a fixed order. Backward: both read, the
asked gradients written.
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
_TINY = tl.constexpr(1.1754944e-38)


@triton.jit
def _log_of_mean(p, q, beta):
    return tl.log(tl.maximum(beta * p + (1.0 - beta) * q, _TINY))


@triton.jit
def _forward_spans(log_q, log_p, sums, spans, width, q_step, p_step, beta, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(tl.program_id(0), spans * blocks, tl.num_programs(0)):
        span = (part // blocks).to(tl.int64)
        column = (part % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = column < width
        a = tl.load(log_q + span * q_step + column, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(log_p + span * p_step + column, mask=inside, other=0.0).to(tl.float32)
        q, p = tl.exp(a), tl.exp(b)
        m = _log_of_mean(p, q, beta)
        total += tl.where(inside, beta * p * (b - m) + (1.0 - beta) * q * (a - m), 0.0)
    tl.store(sums + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def _backward_spans(
    log_q, log_p, dloss, dq, dp, spans, width, q_step, p_step, rows, beta, FOR_Q: tl.constexpr, FOR_P: tl.constexpr, BLOCK: tl.constexpr
):
    # what m's own slope adds cancels: of one element dq = (1 − β) q (log q − log m) / R, dp = β p (log p − log m) / R
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    scale = tl.load(dloss).to(tl.float32) / rows
    a = tl.load(log_q + span * q_step + column, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(log_p + span * p_step + column, mask=inside, other=0.0).to(tl.float32)
    q, p = tl.exp(a), tl.exp(b)
    m = _log_of_mean(p, q, beta)
    if FOR_Q:
        tl.store(dq + span * width + column, ((1.0 - beta) * q * (a - m) * scale).to(dq.dtype.element_ty), mask=inside)
    if FOR_P:
        tl.store(dp + span * width + column, (beta * p * (b - m) * scale).to(dp.dtype.element_ty), mask=inside)


_launch_forward, _launch_backward = Launcher(_forward_spans), Launcher(_backward_spans)


def _forward(tensors: Any, scalars: Any) -> Any:
    log_q, log_p = tensors
    given, steps, spans, width = as_spans((log_q, log_p), log_q.shape[-1])
    block = block_of(width)
    programs = persistent(spans * -(-width // block), 4, log_q.get_device())
    sums = torch.empty((programs,), dtype=torch.float32, device=log_q.device)
    _launch_forward(programs, (*given, sums), (spans, width, *steps, float(scalars[0])), (block,), 4)
    return (mean_of(sums, log_q.dtype, programs, log_q.numel() // log_q.shape[-1]),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    log_q, log_p = tensors
    made = [fresh(one) if wanted else None for one, wanted in zip(tensors, needed, strict=True)]
    given, steps, spans, width = as_spans((log_q, log_p), log_q.shape[-1])
    block = block_of(width)
    any_made = next(one for one in made if one is not None)
    tensors = (*given, cotangents[0], *[any_made if one is None else one for one in made])
    numbers = (spans, width, *steps, float(log_q.numel() // log_q.shape[-1]), float(scalars[0]))
    _launch_backward(spans * -(-width // block), tensors, numbers, (bool(needed[0]), bool(needed[1]), block), 4)
    return made


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda log_q, log_p, beta: [((), log_q.dtype)])


def run(log_q: Tensor, log_p: Tensor, beta: float = 0.5) -> Any:
    """As the reference."""
    return _call((log_q, log_p), (beta,))
