"""Generalised Jensen-Shannon divergence in Triton. Needs torch and triton.

Bound by memory, in half precision nearly by exponentials and logarithms as well: three of them an element, an instruction each; all is reckoned in
logarithms to 2, with β inside them (Triton's own exp and log, 60 instructions an element, made it half as fast as a copy). Forward: both inputs read
once, 2·R·V elements, nothing of their size written: programs that stay each keep one sum, a last program adds them in a fixed order. On an H200 96 % of a
copy by 16 programs a multiprocessor, 90 % by 8, 87 % by 12; with all loads before the first exponential 89 %. Backward: both read, the asked gradients
written.
"""

import math
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops import pairs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.pairs import mean_over, slopes_over
from popcorn.ops.powers import log2_of

LANGUAGE = "triton"
TOGETHER = 24
"""Programs on a multiprocessor: more than it holds at once, so that some always begin."""
_LOG2_E = tl.constexpr(1.4426950408889634)
_TINY = tl.constexpr(1.1754944e-38)
_NOTHING = tl.constexpr(-60000.0)
"""Of a logarithm: adds 0 to every sum, in every element type."""


@triton.jit
def _forward_spans(
    log_q, log_p, sums, spans, width, q_step, p_step, q_part, p_part, rows,
    QUICK: tl.constexpr, ALONE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(width, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(tl.program_id(0), spans * blocks, tl.num_programs(0)):
        span = (part // blocks).to(tl.int64)
        column = (part % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = column < width
        a = tl.load(log_q + span * q_step + column, mask=inside, other=_NOTHING).to(tl.float32)
        b = tl.load(log_p + span * p_step + column, mask=inside, other=_NOTHING).to(tl.float32)
        # a part of the mean is 2 to a logarithm and that of its weight; all in logarithms to 2
        q, p = tl.exp2(a * _LOG2_E + q_part), tl.exp2(b * _LOG2_E + p_part)
        m = log2_of(tl.maximum(p + q, _TINY), QUICK)
        total += p * (b * _LOG2_E - m) + q * (a * _LOG2_E - m)
    whole = tl.sum(total, 0) / _LOG2_E
    if ALONE:
        whole /= rows
    tl.store(sums + tl.program_id(0), whole.to(sums.dtype.element_ty))


@triton.jit
def _backward_spans(
    log_q, log_p, dloss, dq, dp, spans, width, q_step, p_step, q_part, p_part, rows,
    QUICK: tl.constexpr, FOR_Q: tl.constexpr, FOR_P: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # what m's own slope adds cancels: of one element dq = (1 − β) q (log q − log m) / R, dp = β p (log p − log m) / R
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    scale = tl.load(dloss).to(tl.float32) / rows / _LOG2_E
    a = tl.load(log_q + span * q_step + column, mask=inside, other=_NOTHING).to(tl.float32)
    b = tl.load(log_p + span * p_step + column, mask=inside, other=_NOTHING).to(tl.float32)
    q, p = tl.exp2(a * _LOG2_E + q_part), tl.exp2(b * _LOG2_E + p_part)
    m = log2_of(tl.maximum(p + q, _TINY), QUICK)
    if FOR_Q:
        tl.store(dq + span * width + column, (q * (a * _LOG2_E - m) * scale).to(dq.dtype.element_ty), mask=inside)
    if FOR_P:
        tl.store(dp + span * width + column, (p * (b * _LOG2_E - m) * scale).to(dp.dtype.element_ty), mask=inside)


_launch_forward, _launch_backward = Launcher(_forward_spans), Launcher(_backward_spans)


def _parts(beta: float) -> tuple[float, float]:
    """log₂ of the weights of q and of p in the mean."""
    return math.log2(1.0 - beta), math.log2(beta)


def _forward(tensors: Any, scalars: Any) -> Any:
    quick = tensors[0].element_size() == 2
    return (mean_over(_launch_forward, tensors, _parts(scalars[0]), (quick,), TOGETHER),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    quick = tensors[0].element_size() == 2
    return slopes_over(_launch_backward, tensors, cotangents[0], needed, _parts(scalars[0]), (quick,))


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda log_q, log_p, beta: [((), log_q.dtype)], parts=(pairs,)
)  # fmt: skip


def run(log_q: Tensor, log_p: Tensor, beta: float = 0.5) -> Any:
    """As the reference."""
    return _call((log_q, log_p), (beta,))
