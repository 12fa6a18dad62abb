"""Exponentials and logarithms in few instructions, as device functions of Triton kernels. Needs torch and triton.

Triton's exp keeps results below 2⁻¹²⁶ (four instructions more than the one that computes), its log is a polynomial of twenty; in half precision
either is more than memory takes. Results below 2⁻¹²⁶ are 0 here.
"""

import triton
import triton.language as tl
from triton import knobs
from triton.language.extra import libdevice

_HARDWARE = tl.constexpr(not knobs.runtime.interpret)
"""Triton's interpreter has no instructions of a GPU."""


@triton.jit
def exp_of(x):
    """eˣ: a multiplication and an instruction."""
    return tl.exp2(x * 1.4426950408889634)


@triton.jit
def log2_of(x, QUICK: tl.constexpr):
    """log₂ x of a normal number; QUICK: by one instruction, off by 2⁻²² of it, or of 1 where that is less."""
    if QUICK and _HARDWARE:
        return libdevice.fast_log2f(x)
    else:
        return tl.log2(x)
