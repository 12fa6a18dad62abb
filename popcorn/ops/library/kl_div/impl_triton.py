"""KL divergence in Triton. Needs torch and triton.

Bound by memory. Forward: both inputs read once, 2·R·V elements, nothing of their size written: programs that stay each keep one sum, a last
program adds them in a fixed order. Backward: both read, the asked gradients written.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops import pairs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.pairs import mean_over, slopes_over

LANGUAGE = "triton"


@triton.jit
def _forward_spans(log_q, log_p, sums, spans, width, q_step, p_step, rows, ALONE: tl.constexpr, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(tl.program_id(0), spans * blocks, tl.num_programs(0)):
        span = (part // blocks).to(tl.int64)
        column = (part % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = column < width
        q = tl.load(log_q + span * q_step + column, mask=inside, other=0.0).to(tl.float32)
        p = tl.load(log_p + span * p_step + column, mask=inside, other=0.0).to(tl.float32)
        total += tl.exp(p) * (p - q)
    whole = tl.sum(total, 0)
    if ALONE:
        whole /= rows
    tl.store(sums + tl.program_id(0), whole.to(sums.dtype.element_ty))


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
    return (mean_over(_launch_forward, tensors),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    return slopes_over(_launch_backward, tensors, cotangents[0], needed)


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda log_q, log_p: [((), log_q.dtype)], parts=(pairs,))


def run(log_q: Tensor, log_p: Tensor) -> Any:
    """As the reference."""
    return _call((log_q, log_p), ())
