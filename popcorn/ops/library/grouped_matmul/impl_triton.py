"""A product for each group of rows in Triton, for Hopper. Needs torch and triton.

Bound by operations: 2·M·K·N forward, twice that backward. Sizes of groups are read on the device, so a call waits for nothing: programs that stay walk
over the groups' tiles, all row tiles of a column before the next, so that a weight comes from memory once. The weights' gradient has a tile for each
program and goes over its group's rows; the last step of a group is masked, as rows of the next one follow. See `products` for tiles and TMA.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops import blocks, products
from popcorn.ops.blocks import BlockLauncher, reachable
from popcorn.ops.gpu import gpu
from popcorn.ops.products import cut_of
from popcorn.ops.tiles import processors

LANGUAGE = "triton"
MULTIPLES = products.MULTIPLES


@triton.jit
def _multiply_groups(x, weight, y, ends, groups, n, k, TURNED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEEP: tl.constexpr):
    tile = tl.program_id(0)
    before, start = 0, 0
    for group in range(groups):
        end = tl.load(ends + group).to(tl.int32)
        down = tl.cdiv(end - start, ROWS)
        here = down * tl.cdiv(n, COLUMNS)
        while tile < before + here:
            row = start + (tile - before) % down * ROWS
            column = (tile - before) // down * COLUMNS
            total = tl.zeros([ROWS, COLUMNS], tl.float32)
            for step in range(tl.cdiv(k, DEEP)):
                left = x.load([row, step * DEEP])
                if TURNED:
                    right = weight.load([group, column, step * DEEP]).reshape([COLUMNS, DEEP]).T
                else:
                    right = weight.load([group, step * DEEP, column]).reshape([DEEP, COLUMNS])
                total = tl.dot(left, right, total)
            rows, columns = row + tl.arange(0, ROWS)[:, None], column + tl.arange(0, COLUMNS)[None, :]
            # not by TMA: the rows behind the last one are another group's
            tl.store(y + rows.to(tl.int64) * n + columns, total.to(y.dtype.element_ty), mask=(rows < end) & (columns < n))
            tile += tl.num_programs(0)
        before += here
        start = end


@triton.jit
def _weight_slopes(x, dy, dweight, ends, groups, k, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEEP: tl.constexpr):
    down, across = tl.cdiv(k, ROWS), tl.cdiv(n, COLUMNS)
    for tile in tl.range(tl.program_id(0), groups * down * across, tl.num_programs(0)):
        group = tile // (down * across)
        row, column = tile % (down * across) % down * ROWS, tile % (down * across) // down * COLUMNS
        start = tl.load(ends + group - 1, mask=group > 0, other=0).to(tl.int32)
        end = tl.load(ends + group).to(tl.int32)
        whole = start + (end - start) // DEEP * DEEP
        total = tl.zeros([ROWS, COLUMNS], tl.float32)
        for at in range(start, whole, DEEP):
            total = tl.dot(x.load([at, row]).T, dy.load([at, column]), total)
        if whole < end:
            inside = (whole + tl.arange(0, DEEP) < end)[:, None]
            left, right = x.load([whole, row]), dy.load([whole, column])
            total = tl.dot(tl.where(inside, left, 0.0).T, tl.where(inside, right, 0.0), total)
        dweight.store([group, row, column], total.to(dweight.dtype).reshape([1, ROWS, COLUMNS]))


_launch_groups, _launch_slopes = BlockLauncher(_multiply_groups), BlockLauncher(_weight_slopes)


def _multiply(x: Tensor, weight: Tensor, ends: Tensor, turned: bool) -> Tensor:
    """x (M, K), weight (E, K, N), or (E, N, K) turned → (M, N)."""
    x, weight = reachable(x), reachable(weight)
    (m, k), groups, n = x.shape, weight.shape[0], weight.shape[1 if turned else 2]
    device = x.get_device()
    cut = cut_of(-(-m // groups), n, device, groups)
    y = x.new_empty((m, n))
    block = (1, cut.columns, cut.deep) if turned else (1, cut.deep, cut.columns)
    given = ((x, (cut.rows, cut.deep)), (weight, block))
    _launch_groups(processors(device), given, (y, ends), (groups, n, k), (turned, *cut[:3]), cut.warps, cut.stages)
    return y


def _forward(tensors: Any, scalars: Any) -> Any:
    x, weight, ends = tensors
    return (_multiply(x, weight, ends.contiguous(), False),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    x, weight, ends = tensors[0], tensors[1], tensors[2].contiguous()
    dy = reachable(cotangents[0])
    dx = _multiply(dy, weight, ends, True) if needed[0] else None
    if not needed[1]:
        return [dx, None, None]
    x, (groups, k, n) = reachable(x), weight.shape
    device = x.get_device()
    cut = cut_of(k, n, device, groups)
    dweight = weight.new_empty(weight.shape)
    given = ((x, (cut.deep, cut.rows)), (dy, (cut.deep, cut.columns)), (dweight, (1, cut.rows, cut.columns)))
    _launch_slopes(processors(device), given, (ends,), (groups, k, n), cut[:3], cut.warps, cut.stages)
    return [dx, dweight, None]


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda x, weight, ends: [((x.shape[0], weight.shape[2]), x.dtype)],
    products.accepts,
    parts=(blocks, products),
)


def run(x: Tensor, weight: Tensor, ends: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight, ends))
