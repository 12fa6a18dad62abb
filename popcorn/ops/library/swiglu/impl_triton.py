"""silu(gate) · up in Triton. Needs torch and triton.

Bound by memory, element by element. Forward: gate and up read, the answer written, 3·R·D elements. Backward: gate, up and the cotangent
read, both gradients written, 5·R·D; the activation is made again. Contiguous tensors are one span, so widths that are no multiple of a
vector cost nothing.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_spans, block_of, fresh

LANGUAGE = "triton"


@triton.jit
def _act(a):
    return a / (1.0 + tl.exp(-a))


@triton.jit
def _act_and_slope(a):
    s = 1.0 / (1.0 + tl.exp(-a))
    return a * s, s * (1.0 + a * (1.0 - s))


@triton.jit
def _forward_spans(gate, up, y, spans, width, gate_step, up_step, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    a = tl.load(gate + span * gate_step + column, mask=inside).to(tl.float32)
    b = tl.load(up + span * up_step + column, mask=inside).to(tl.float32)
    tl.store(y + span * width + column, (_act(a) * b).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_spans(gate, up, dy, dgate, dup, spans, width, gate_step, up_step, dy_step, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    a = tl.load(gate + span * gate_step + column, mask=inside).to(tl.float32)
    b = tl.load(up + span * up_step + column, mask=inside).to(tl.float32)
    g = tl.load(dy + span * dy_step + column, mask=inside).to(tl.float32)
    value, slope = _act_and_slope(a)
    tl.store(dgate + span * width + column, (g * b * slope).to(dgate.dtype.element_ty), mask=inside)
    tl.store(dup + span * width + column, (g * value).to(dup.dtype.element_ty), mask=inside)


_launch_forward, _launch_backward = Launcher(_forward_spans), Launcher(_backward_spans)


def _forward(tensors: Any, scalars: Any) -> Any:
    gate, up = tensors
    y = fresh(gate)
    given, steps, spans, width = as_spans((gate, up), gate.shape[-1])
    block = block_of(width)
    _launch_forward(spans * -(-width // block), (*given, y), (spans, width, *steps), (block,), 4)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    gate, up = tensors
    dgate = fresh(gate)
    dup = fresh(up)
    given, steps, spans, width = as_spans((gate, up, cotangents[0]), gate.shape[-1])
    block = block_of(width)
    _launch_backward(spans * -(-width // block), (*given, dgate, dup), (spans, width, *steps), (block,), 4)
    return [dgate, dup]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda gate, up: [(gate.shape, gate.dtype)])


def run(gate: Tensor, up: Tensor) -> Any:
    """As the reference."""
    return _call((gate, up), ())
