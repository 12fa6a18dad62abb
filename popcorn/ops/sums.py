"""Last steps of sums that many GPU programs share: fixed order, no atomics, so the same bits every time. Needs torch and triton."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import power_of_two

_COLUMNS, _DEEP = 32, 128
_LONGEST = 16384


@triton.jit
def _both(a, b, c, d):
    return a + c, b + d


@triton.jit
def _all_three(a, b, c, d, e, f):
    return a + d, b + e, c + f


@triton.jit
def sum_2(a, b):
    """Sums of two tiles along their rows: threads wait for one another once, not twice."""
    return tl.reduce((a, b), 1, _both)


@triton.jit
def sum_3(a, b, c):
    """Of three."""
    return tl.reduce((a, b, c), 1, _all_three)


@triton.jit
def _add_programs(partial, out, programs, width, DEEP: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    deep = tl.arange(0, DEEP)[:, None]
    total = tl.zeros([DEEP, COLUMNS], tl.float32)
    for start in range(0, programs, DEEP):
        inside = (start + deep < programs) & (column < width)
        total += tl.load(partial + (start + deep) * width + column, mask=inside, other=0.0)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + column, tl.sum(total, 0).to(out.dtype.element_ty), mask=column < width)


@triton.jit
def _mean(sums, out, first, parts, whole, COUNTED: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    number = tl.zeros([BLOCK], tl.float32)
    for start in range(0, parts, BLOCK):
        inside = start + lane < parts
        total += tl.load(sums + first + start + lane, mask=inside, other=0.0)
        if COUNTED:
            number += tl.load(sums + first + parts + start + lane, mask=inside, other=0.0)
    if COUNTED:
        all_counted = tl.sum(number, 0)
        tl.store(sums + first + 2 * parts, all_counted)
        tl.store(out, (tl.sum(total, 0) / all_counted).to(out.dtype.element_ty))
    else:
        tl.store(out, (tl.sum(total, 0) / whole).to(out.dtype.element_ty))


_launch_add = Launcher(_add_programs)
_launch_mean = Launcher(_mean)


def add_programs(partial: Tensor, dtype: torch.dtype) -> Tensor:
    """partial (P, D) in float32, a row from each program → their sum (D) in `dtype`."""
    programs, width = partial.shape
    out = torch.empty((width,), dtype=dtype, device=partial.device)
    _launch_add(-(-width // _COLUMNS), (partial, out), (programs, width), (_DEEP, _COLUMNS), 4)
    return out


def mean_of(sums: Tensor, dtype: torch.dtype, parts: int, whole: int = 1) -> Tensor:
    """The first `parts` of sums (float32) over `whole`, a scalar in `dtype`."""
    return _mean_of(sums, dtype, 0, parts, whole, False)


def mean_of_counted(sums: Tensor, dtype: torch.dtype, first: int, parts: int) -> Tensor:
    """The sum of sums[first :][:parts] over that of the `parts` counts after them, which is written behind both: sums has one place more."""
    return _mean_of(sums, dtype, first, parts, 1, True)


def _mean_of(sums: Tensor, dtype: torch.dtype, first: int, parts: int, whole: int, counted: bool) -> Tensor:
    out = sums.new_empty((), dtype=dtype)
    block = min(_LONGEST, max(128, power_of_two(parts)))
    _launch_mean(1, (sums, out), (first, parts, float(whole)), (counted, block), min(32, max(4, block // 512)))
    return out
