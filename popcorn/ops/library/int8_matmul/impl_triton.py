"""A product with weights of 8 bits in Triton: they are widened in registers, never in memory. Needs torch and triton.

With few rows, as in decoding, bound by memory: N·K bytes of weights, half of what half-precision weights take and a fifth of what widening them in
memory moves. The answer is made turned, weights times xᵀ: a tensor core takes its left side from registers, where the widened weights are. The scale is
applied to the sum. Backward: the gradient of x is torch's product with widened weights, which training of what lies below may afford; that of
the scale takes the product without it again.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import as_rows, power_of_two

LANGUAGE = "triton"
_COLUMNS, _DEEP = 64, 128


@triton.jit
def _multiply(
    x, weight, scale, y, rows, k, n, x_step,
    SCALED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(n, COLUMNS)
    column = tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.program_id(0) // across * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([COLUMNS, ROWS], tl.float32)
    for start in tl.range(0, k, DEEP, num_stages=STAGES):
        lane = start + tl.arange(0, DEEP)
        inside = (column < n)[:, None] & (lane < k)[None, :]
        w = tl.load(weight + column.to(tl.int64)[:, None] * k + lane[None, :], mask=inside, other=0)
        v = tl.load(x + row.to(tl.int64)[None, :] * x_step + lane[:, None], mask=(lane < k)[:, None] & (row < rows)[None, :], other=0.0)
        total = tl.dot(w.to(v.dtype), v, total)
    if SCALED:
        total *= tl.load(scale + column, mask=column < n, other=0.0).to(tl.float32)[:, None]
    at = row.to(tl.int64)[None, :] * n + column[:, None]
    tl.store(y + at, total.to(y.dtype.element_ty), mask=(row < rows)[None, :] & (column < n)[:, None])


_launch = Launcher(_multiply)


def _product(x: Tensor, weight: Tensor, scale: Tensor | None) -> Tensor:
    """x (…, K), weight (N, K) of int8, scale (N) → (…, N), in float32 where there is no scale."""
    k, n = x.shape[-1], weight.shape[0]
    rows = x.numel() // k
    given, step = as_rows(x, k)
    y = x.new_empty((*x.shape[:-1], n), dtype=torch.float32 if scale is None else x.dtype)
    high = min(128, max(16, power_of_two(rows)))
    by = y if scale is None else scale.contiguous()
    constants = (scale is not None, high, _COLUMNS, _DEEP, 4 if high <= 64 else 3)
    programs = -(-n // _COLUMNS) * -(-rows // high)
    _launch(programs, (given, weight.contiguous(), by, y), (rows, k, n, step), constants, 4)
    return y


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight, scale = tensors
    return (_product(x, weight, scale),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (x, weight, scale), dy = tensors, cotangents[0]
    dx = (dy * scale) @ weight.to(x.dtype) if needed[0] else None
    if not needed[2]:
        return [dx, None, None]
    plain = _product(x, weight, None)
    dscale = (dy * plain).reshape(-1, plain.shape[-1]).sum(0)
    return [dx, None, dscale.to(scale.dtype)]


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda x, weight, scale: [((*x.shape[:-1], weight.shape[0]), x.dtype)],
    needs(precisions=("bfloat16", "float16")),
)


def run(x: Tensor, weight: Tensor, scale: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight, scale))
