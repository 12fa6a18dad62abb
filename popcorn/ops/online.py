"""Largest value and sum of exponentials of a long row in one reading, as device functions of Triton kernels. Needs torch and triton.

Every group of LANES neighbours, which one thread holds, keeps a largest value and a sum of its own, so no step waits for other threads and
each element costs little more than one exponential: at two bytes an element, a second one would already be what bounds the kernel.
"""

import triton
import triton.language as tl

from popcorn.ops.powers import exp_of

LONG_BLOCK = 8192
"""Elements of a step along a long row."""
LONG_WARPS = 16


@triton.jit
def largest_and_sum(row, width, BLOCK: tl.constexpr, LANES: tl.constexpr):
    """(m, Σ exp(v − m)) over `width` elements at `row`; m is the lowest finite number where all are −inf."""
    offset = tl.arange(0, BLOCK // LANES)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    top = tl.full([BLOCK // LANES], -3.4028234663852886e38, tl.float32)
    total = tl.zeros([BLOCK // LANES], tl.float32)
    for start in range(0, width, BLOCK):
        v = tl.load(row + start + offset, mask=start + offset < width, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, 1))
        total = total * exp_of(top - higher) + tl.sum(exp_of(v - higher[:, None]), 1)
        top = higher
    m = tl.max(top, 0)
    return m, tl.sum(total * exp_of(top - m), 0)


@triton.jit
def largest_and_sum_of(v):
    """The same of v (rows, groups, neighbours) for each row, where all of it is held at once: exponentials are done before threads wait.

    Reducing (largest, sum) pairs would save one of the two short rounds and cost two exponentials at each of its steps: 34 for 16 elements of a
    thread among 256, where these are 18, and the unit that makes them would bound two-byte rows.
    """
    top = tl.maximum(tl.max(v, 2), -3.4028234663852886e38)
    total = tl.sum(exp_of(v - top[:, :, None]), 2)
    m = tl.max(top, 1)
    return m, tl.sum(total * exp_of(top - m[:, None]), 1)


@triton.jit
def log_of(m, total):
    """log Σ exp from the largest value and the sum about it; +inf where that is the largest."""
    return tl.where(m == float("inf"), m, m + tl.log(total))


def lanes_of(itemsize: int) -> int:
    """Neighbours that one load of 16 bytes brings."""
    return 16 // itemsize
