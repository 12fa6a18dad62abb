"""The last layer and its loss: torch's matrix products, and one Triton kernel between them. Needs torch and triton.

Bound by three matrix products with gradients, 6·R·D·V operations (one without, 2·R·D·V); logits stand in memory a chunk of rows at a time,
never all. The kernel reads a row of logits, and where gradients are wanted reads it again from L2 and writes their gradient in its place, so
a chunk costs two readings and a writing. The weight's gradient is summed over chunks in float32 and rounded once. Gradients are made in the
forward pass, while a chunk is there, and scaled in the backward one: nothing of a chunk is kept.
"""

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.online import LONG_BLOCK, LONG_WARPS, lanes_of, largest_and_sum, log_of
from popcorn.ops.sums import mean_of_counted
from popcorn.ops.tiles import as_rows

LANGUAGE = "triton"
CHUNK_BYTES = 1 << 28
"""Logits that stand in memory at once: large enough that the products run at full speed."""
_LEFT_OUT = tl.constexpr(-100)


@triton.jit
def _loss_rows(logits, target, sums, total, width, start_row, many, GRADIENT: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    at = logits + tl.program_id(0).to(tl.int64) * width
    row = start_row + tl.program_id(0)
    wanted = tl.load(target + row)
    counted = wanted != _LEFT_OUT
    known = (wanted >= 0) & (wanted < width)
    picked = tl.load(at + wanted, mask=known, other=float("nan")).to(tl.float32)
    top, sum_ = largest_and_sum(at, width, BLOCK, LANES)
    answer = log_of(top, sum_)
    tl.store(sums + row, tl.where(counted, answer - picked, 0.0))
    tl.store(sums + many + row, counted.to(tl.float32))
    if GRADIENT:
        tl.debug_barrier()  # the target's logit is read before its place is written
        scale = tl.where(counted, 1.0 / tl.load(total), 0.0)
        lane = tl.arange(0, BLOCK)
        for start in range(0, width, BLOCK):
            inside = start + lane < width
            v = tl.load(at + start + lane, mask=inside, other=-float("inf")).to(tl.float32)
            slope = (tl.exp(v - answer) - tl.where(start + lane == wanted, 1.0, 0.0)) * scale
            tl.store(at + start + lane, slope.to(logits.dtype.element_ty), mask=inside)


@triton.jit
def _count_rows(target, total, many, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    number = tl.zeros([BLOCK], tl.float32)
    for start in range(0, many, BLOCK):
        number += (tl.load(target + start + lane, mask=start + lane < many, other=_LEFT_OUT) != _LEFT_OUT).to(tl.float32)
    tl.store(total, tl.sum(number, 0))


_launch, _launch_count = Launcher(_loss_rows), Launcher(_count_rows)


@functools.lru_cache(8)
def _sums_in_float32(device: torch.device) -> bool:
    """Whether torch here adds a product of half-precision matrices to a float32 matrix, without a copy."""
    try:
        a = torch.zeros(16, 16, dtype=torch.bfloat16, device=device)
        out = torch.zeros(16, 16, device=device)
        torch.addmm(out, a, a, out_dtype=torch.float32, out=out)
    except (RuntimeError, TypeError, NotImplementedError):
        return False
    return True


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total (float32) += a · b."""
    if a.dtype == torch.float32:
        total.addmm_(a, b)
    elif _sums_in_float32(a.device):
        torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
    else:
        total += a @ b


def _forward(tensors: Any, scalars: Any, needed: Any = (True, True, False)) -> Any:
    x, weight, target = tensors
    width, size = x.shape[-1], weight.shape[0]
    rows, labels = as_rows(x, width)[0].reshape(-1, width), target.contiguous().view(-1)
    many = rows.shape[0]
    step = min(many, max(64, CHUNK_BYTES // (size * x.element_size()) // 64 * 64))  # multiples keep addresses aligned
    one_chunk = step == many
    for_x, for_weight = needed[0], needed[1]
    sums = torch.empty((2 * many + 1,), dtype=torch.float32, device=x.device)
    counted = sums
    if for_x or for_weight:
        counted = sums.new_empty(())
        _launch_count(1, (labels, counted), (many,), (4096,), 8)
    grad_x = x.new_empty(rows.shape) if for_x and not one_chunk else None
    grad_weight = torch.zeros(weight.shape, dtype=torch.float32, device=x.device) if for_weight and not one_chunk else None
    constants = (bool(for_x or for_weight), LONG_BLOCK, lanes_of(x.element_size()))
    for start in range(0, many, step):
        some = rows if one_chunk else rows[start : start + step]
        logits = torch.mm(some, weight.t())
        _launch(some.shape[0], (logits, labels, sums, counted), (size, start, many), constants, LONG_WARPS)
        if one_chunk:
            grad_x = torch.mm(logits, weight) if for_x else None
            grad_weight = torch.mm(logits.t(), some) if for_weight else None
            continue
        if grad_x is not None:
            torch.mm(logits, weight, out=grad_x[start : start + step])
        if grad_weight is not None:
            _add_product(grad_weight, logits.t(), some)
    loss = mean_of_counted(sums, x.dtype, 0, many)
    kept = (grad_x, None if grad_weight is None else grad_weight.to(weight.dtype))
    return (loss,), tuple(one for one in kept if one is not None)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    made, x = iter(kept), tensors[0]
    for_x = (next(made) * cotangents[0]).reshape(x.shape) if needed[0] else None
    return [for_x, next(made) * cotangents[0] if needed[1] else None, None]


_call, accepts, SOURCE, traced = gpu(__file__, _forward, _backward, lambda x, weight, target: [((), x.dtype)], takes_needed=True)


def run(x: Tensor, weight: Tensor, target: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight, target), ())
