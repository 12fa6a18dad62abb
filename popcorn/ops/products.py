"""Matrix products on Hopper's tensor cores, in Triton. Needs torch and triton.

Bound by 2·M·N·K operations from some hundred rows on. Programs stay, one a multiprocessor, and go over tiles of the answer in an order that keeps
neighbours in L2; operands come by TMA, several steps of K on their way, and may lie either way round, so a backward pass copies nothing. Sums are
float32. Tiles are of a short closed list; the one whose waves over the multiprocessors take least is used, so that nothing is timed at a call.
"""

import functools
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.blocks import BlockLauncher
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


@functools.lru_cache(4096)
def _way_of(shape: torch.Size, steps: tuple[int, int], step: int) -> tuple[bool, bool]:
    """(whether TMA reads such a matrix as it lies, whether turned); one of its sizes is a multiple of `step`, elements of 16 bytes."""
    ways = [turned for turned in (False, True) if shape[0 if turned else 1] % step == 0]
    for turned in ways:
        (rows, width), (down, across) = (shape[::-1], steps[::-1]) if turned else (shape, steps)
        if across == 1 and (rows == 1 or (down % step == 0 and down >= width)):
            return True, turned
    return False, ways[0]


def _operand(t: Tensor) -> tuple[Tensor, bool]:
    """(as TMA reads it, whether it is turned): copied only where neither way round will do."""
    fits, turned = _way_of(t.shape, t.stride(), ALIGNED // t.element_size())
    one = t.t() if turned else t
    return one if fits and t.data_ptr() % ALIGNED == 0 else aligned(one), turned


_launch = BlockLauncher(_multiply)


def flat(a: Tensor) -> Tensor:
    """(…, K) → (M, K)."""
    return a if a.dim() == 2 else a.reshape(-1, a.shape[-1])


def like(a: Tensor, product: Tensor) -> Tensor:
    """(M, N) → (…, N), leading sizes as those of a."""
    return product if a.dim() == 2 else product.view(*a.shape[:-1], product.shape[1])


def multiply(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (M, K) · b (K, N) + bias (N) → (M, N), contiguous; K and N in multiples of 8, float16 or bfloat16."""
    (m, k), n = a.shape, b.shape[1]
    device = a.get_device()
    cut = cut_of(m, n, device)
    (left, a_turned), (right, b_turned) = _operand(a), _operand(b)
    out = a.new_empty((m, n))
    blocks = (
        (left, (cut.deep, cut.rows) if a_turned else (cut.rows, cut.deep)),
        (right, (cut.columns, cut.deep) if b_turned else (cut.deep, cut.columns)),
        (out, (cut.rows, cut.columns)),
    )
    programs = min(processors(device), -(-m // cut.rows) * -(-n // cut.columns))
    constants = (a_turned, b_turned, bias is not None, *cut[:3])
    given = out if bias is None else bias.contiguous()
    _launch(programs, blocks, (given,), (m, n, k), constants, cut.warps, cut.stages)
    return out


MULTIPLES = {"K": 8, "N": 8}

accepts: Accepts = needs(device="cuda", precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES)
"""Hopper's: TMA and products of 64 rows at least; float32 would be in TF32 here."""
