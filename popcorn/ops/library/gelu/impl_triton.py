"""GELU, the tanh form, in Triton. Needs torch and triton.

Bound by memory, element by element. Forward: x read, the answer written, 2·R·D elements. Backward: x and the cotangent read, the gradient
written, 3·R·D. Contiguous tensors are one span.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_spans, block_of, fresh

LANGUAGE = "triton"

# ½ (1 + tanh z) = sigmoid(2 z) with z = √(2/π) (a + 0.044715 a³)
_TWICE_ROOT = tl.constexpr(1.5957691216057308)
_CUBIC = tl.constexpr(0.044715)


@triton.jit
def _forward_spans(x, y, spans, width, step, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    a = tl.load(x + span * step + column, mask=inside).to(tl.float32)
    out = a / (1.0 + tl.exp(-_TWICE_ROOT * (a + _CUBIC * a * a * a)))
    tl.store(y + span * width + column, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward_spans(x, dy, dx, spans, width, step, dy_step, BLOCK: tl.constexpr):
    blocks = tl.cdiv(width, BLOCK)
    span = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    a = tl.load(x + span * step + column, mask=inside).to(tl.float32)
    g = tl.load(dy + span * dy_step + column, mask=inside).to(tl.float32)
    s = 1.0 / (1.0 + tl.exp(-_TWICE_ROOT * (a + _CUBIC * a * a * a)))
    slope = s + a * s * (1.0 - s) * _TWICE_ROOT * (1.0 + 3.0 * _CUBIC * a * a)
    tl.store(dx + span * width + column, (g * slope).to(dx.dtype.element_ty), mask=inside)


_launch_forward, _launch_backward = Launcher(_forward_spans), Launcher(_backward_spans)


def _forward(tensors: Any, scalars: Any) -> Any:
    (x,) = tensors
    y = fresh(x)
    given, steps, spans, width = as_spans((x,), x.shape[-1])
    block = block_of(width)
    _launch_forward(spans * -(-width // block), (*given, y), (spans, width, *steps), (block,), 4)
    return (y,), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (x,) = tensors
    dx = fresh(x)
    given, steps, spans, width = as_spans((x, cotangents[0]), x.shape[-1])
    block = block_of(width)
    _launch_backward(spans * -(-width // block), (*given, dx), (spans, width, *steps), (block,), 4)
    return [dx]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x: [(x.shape, x.dtype)])


def run(x: Tensor) -> Any:
    """As the reference."""
    return _call((x,), ())
