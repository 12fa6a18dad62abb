"""Matrix products on Hopper's tensor cores, in Triton. Needs torch and triton.

Bound by 2·M·N·K operations from some hundred rows on. Programs stay, one a multiprocessor, and go over tiles of the answer in an order that keeps
neighbours in L2; operands come by TMA, several steps of K on their way, and may lie either way round, so a backward pass copies nothing. Sums are
float32. Tiles are of a short closed list; the one whose waves over the multiprocessors take least is used, so that nothing is timed at a call.
"""

import functools
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from popcorn.ops.borrowed import ALIGNED, aligned
from popcorn.ops.calls import Accepts, needs
from popcorn.ops.tiles import processors


class Cut(NamedTuple):
    """A tile of the answer, a step of K, and how a program works on them."""

    rows: int
    columns: int
    deep: int
    warps: int
    stages: int


CUTS = {
    Cut(128, 256, 64, 8, 3): 1.0,
    Cut(128, 128, 64, 8, 4): 0.82,
    Cut(64, 256, 64, 4, 4): 0.75,
    Cut(64, 128, 64, 4, 4): 0.6,
    Cut(64, 64, 64, 4, 4): 0.4,
}
"""Cuts, and the part of the first one's speed that each has on full multiprocessors: a wider tile reads less for each product."""


@functools.lru_cache(4096)
def cut_of(m: int, n: int, device: int, groups: int = 1) -> Cut:
    """The cut that is through first, counted in waves; of `groups` products of that size."""

    def time(cut: Cut) -> float:
        tiles = groups * -(-m // cut.rows) * -(-n // cut.columns)
        return -(-tiles // processors(device)) * cut.rows * cut.columns / CUTS[cut]

    return min(CUTS, key=time)


@triton.jit
def _multiply(
    a, b, c, bias, m, n, k,
    A_TURNED: tl.constexpr, B_TURNED: tl.constexpr, BIAS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0), flatten=True):
        # eight tiles down, then the next column: what runs at once shares operands
        first = tile // (8 * across) * 8
        high = tl.minimum(down - first, 8)
        row = (first + tile % (8 * across) % high) * ROWS
        column = tile % (8 * across) // high * COLUMNS
        total = tl.zeros([ROWS, COLUMNS], tl.float32)
        for step in range(tl.cdiv(k, DEEP)):
            left = a.load([step * DEEP, row]).T if A_TURNED else a.load([row, step * DEEP])
            right = b.load([column, step * DEEP]).T if B_TURNED else b.load([step * DEEP, column])
            total = tl.dot(left, right, total)
        if BIAS:
            lane = column + tl.arange(0, COLUMNS)
            total += tl.load(bias + lane, mask=lane < n, other=0.0).to(tl.float32)[None, :]
        c.store([row, column], total.to(c.dtype))


def reachable(t: Tensor) -> Tensor:
    """As TMA reads it, last size dense: copied only where steps or address are no multiples of 16 bytes, or rows overlap."""
    multiple, width = ALIGNED // t.element_size(), t.shape[-1]
    steps = [step for size, step in zip(t.shape[:-1], t.stride(), strict=False) if size > 1]
    fits = t.stride(-1) == 1 and t.data_ptr() % ALIGNED == 0 and all(step % multiple == 0 and step >= width for step in steps)
    return t if fits else aligned(t)


def described(t: Tensor, block: list[int]) -> TensorDescriptor:
    """For TMA, in blocks; the step of a size of one, which may be anything, is made one that TMA takes."""
    steps = [t.shape[-1] if size == 1 else step for size, step in zip(t.shape[:-1], t.stride(), strict=False)]
    return TensorDescriptor(t, list(t.shape), [*steps, 1], block)


def _operand(t: Tensor) -> tuple[Tensor, bool]:
    """(as TMA reads it, whether it is turned): copied only where neither way round will do. One of its sizes is a multiple of 8."""
    step = ALIGNED // t.element_size()
    ways = [(one, turned) for one, turned in ((t, False), (t.t(), True)) if one.shape[1] % step == 0]
    for one, turned in ways:
        steps_fit = one.shape[0] == 1 or (one.stride(0) % step == 0 and one.stride(0) >= one.shape[1])
        if one.stride(1) == 1 and steps_fit and one.data_ptr() % ALIGNED == 0:
            return one, turned
    one, turned = ways[0]
    return aligned(one), turned


def multiply(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (M, K) · b (K, N) + bias (N) → (M, N), contiguous; K and N in multiples of 8, float16 or bfloat16."""
    (m, k), n = a.shape, b.shape[1]
    device = a.get_device()
    cut = cut_of(m, n, device)
    (left, a_turned), (right, b_turned) = _operand(a), _operand(b)
    out = a.new_empty((m, n))
    descriptors = (
        described(left, [cut.deep, cut.rows] if a_turned else [cut.rows, cut.deep]),
        described(right, [cut.columns, cut.deep] if b_turned else [cut.deep, cut.columns]),
        described(out, [cut.rows, cut.columns]),
    )
    programs = min(processors(device), -(-m // cut.rows) * -(-n // cut.columns))
    constants = (a_turned, b_turned, bias is not None, *cut[:3])
    given: Any = out if bias is None else bias.contiguous()
    with torch.cuda.device_of(a):
        _multiply[(programs,)](*descriptors, given, m, n, k, *constants, num_warps=cut.warps, num_stages=cut.stages)
    return out


MULTIPLES = {"K": 8, "N": 8}

accepts: Accepts = needs(device="cuda", precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES)
"""Hopper's: TMA and products of 64 rows at least; float32 would be in TF32 here."""
