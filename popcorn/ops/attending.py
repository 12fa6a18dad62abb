"""Attention on Hopper's tensor cores, in Triton: scores of a tile stand in registers, never in memory. Needs torch and triton.

Forward: a program has a tile of queries and goes over keys and values, which come by TMA from where they lie (heads before or after positions),
with a largest score and a sum for each query (Dao, FlashAttention-2, 2023); tiles that no edge cuts are gone over without masks, long ones are
started first. Two programs of four warps stand on a multiprocessor, so that one makes products while the other makes exponentials: at 16,384 positions
on an H200 1.97 ms causal, where one program of eight took 2.41, and 2.24 with the scores of the next keys made while exponentials of these are (four
warps have no registers for that). Heads that are near in L2 gained nothing; warps with different work do not compile for Hopper in Triton 3.6.

Backward, cut likewise (6.06 ms, one program of eight warps 7.37): one kernel goes over queries for each tile of keys, one over keys for each tile of
queries, so each sum has one owner and a fixed order: the same bits twice, for seven products where five would do with atomics. Heads that share keys
are summed by the program that has them.

Packed sequences are one long one in which a query sees from its own beginning to its own end: `edges` (2, T) holds both for each position.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.blocks import Block, BlockLauncher, reachable
from popcorn.ops.launching import Launcher

MULTIPLES = {"K": 64}


class Way(NamedTuple):
    """How a pass is cut. Two programs of four warps on a multiprocessor: one makes products while the other makes exponentials."""

    own: int
    """Queries or keys that a program has."""
    passing: int
    """Keys or queries of a step."""
    warps: int
    stages: int


FORWARD, FORWARD_NARROW = Way(128, 64, 4, 2), Way(64, 64, 4, 3)
"""Of heads of more than 64 elements, and of 64: at 4,096 positions 349 µs, as the wide ones do it 410."""
FOR_KEYS, FOR_QUERIES = Way(64, 64, 4, 2), Way(64, 64, 4, 2)
"""Of the backward pass."""
_LOG2_E = 1.4426950408889634
_UNSEEN = tl.constexpr(-(2.0**100))  # times any scale exact, so that a difference to itself is 0 in a fused multiplication


@triton.jit
def _tile(from_, outer, head, at, HIGH: tl.constexpr, WIDE: tl.constexpr):
    return from_.load([outer, head, at, 0]).reshape([HIGH, WIDE])


@triton.jit
def _range_of(edges, own, start, times, HIGH: tl.constexpr, PACKED: tl.constexpr):
    # of each own position where it begins to see and where it ends; of all of them the first and the last; and from where to where all see
    if PACKED:
        begin = tl.load(edges + own, mask=own < times, other=times)
        end = tl.load(edges + times + own, mask=own < times, other=0)
        last = tl.minimum(start + HIGH, times) - 1
        return begin, end, tl.load(edges + start), tl.load(edges + times + last), tl.load(edges + last), tl.load(edges + times + start)
    return own * 0, own * 0 + times, 0, times, 0, times


@triton.jit
def _place_of(heads, group, times, QUERIES: tl.constexpr):
    # (row, first query, sequence, head, the head that it shares keys with) of a program, the longest tiles first
    many = tl.cdiv(times, QUERIES)
    rows = tl.num_programs(0) // many
    row = tl.program_id(0) % rows
    return row, (many - 1 - tl.program_id(0) // rows) * QUERIES, row // heads, row % heads, row % heads // group


@triton.jit
def _over_keys(
    total, top, part, q, k, v, outer, shared, begin, end, scale, first, last, MASKED: tl.constexpr, KEYS: tl.constexpr, WIDE: tl.constexpr
):
    for start in tl.range(first, last, KEYS):
        keys = _tile(k, outer, shared, start, KEYS, WIDE)
        scores = tl.dot(q, keys.T)
        if MASKED:
            key = start + tl.arange(0, KEYS)[None, :]
            scores = tl.where((key >= begin[:, None]) & (key < end[:, None]), scores, _UNSEEN)
        higher = tl.maximum(top, tl.max(scores, 1) * scale)
        mass = tl.exp2(scores * scale - higher[:, None])  # 1 before a query's first key: wiped out by `kept` with that
        kept = tl.exp2(top - higher)
        part = part * kept + tl.sum(mass, 1)
        values = _tile(v, outer, shared, start, KEYS, WIDE)
        total = tl.dot(mass.to(values.dtype), values, total * kept[:, None])
        top = higher
    return total, top, part


@triton.jit
def _forward_tiles(
    q, k, v, y, sums, edges, heads, group, times, scale,
    CAUSAL: tl.constexpr, PACKED: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    row, start, outer, head, shared = _place_of(heads, group, times, QUERIES)
    query = start + tl.arange(0, QUERIES)
    queries = _tile(q, outer, head, start, QUERIES, WIDE)
    total = tl.zeros([QUERIES, WIDE], tl.float32)
    top = tl.full([QUERIES], -1.0e30, tl.float32)
    part = tl.zeros([QUERIES], tl.float32)
    begin, end, low, high, clear, limit = _range_of(edges, query, start, times, QUERIES, PACKED)
    if CAUSAL:
        end, high, limit = tl.minimum(end, query + 1), tl.minimum(start + QUERIES, times), start
    if PACKED:
        clear = low + tl.cdiv(clear - low, KEYS) * KEYS
        total, top, part = _over_keys(
            total, top, part, queries, k, v, outer, shared, begin, end, scale, low, tl.minimum(clear, high), True, KEYS, WIDE
        )
    whole = clear + tl.maximum(limit - clear, 0) // KEYS * KEYS
    total, top, part = _over_keys(total, top, part, queries, k, v, outer, shared, begin, end, scale, clear, whole, False, KEYS, WIDE)
    total, top, part = _over_keys(total, top, part, queries, k, v, outer, shared, begin, end, scale, whole, high, True, KEYS, WIDE)
    tl.store(sums + row.to(tl.int64) * times + query, top + tl.log2(part), mask=query < times)
    y.store([outer, head, start, 0], (total / part[:, None]).to(y.dtype).reshape([1, 1, QUERIES, WIDE]))


@triton.jit
def _along(
    y, dy, out, rows, width, heads, times, y_batch, y_head, y_time, dy_batch, dy_head, dy_time, HIGH: tl.constexpr, WIDE: tl.constexpr
):
    # Σ y dy of each query
    row = tl.program_id(0) * HIGH + tl.arange(0, HIGH)
    outer, head, time = (row // (heads * times)).to(tl.int64), (row // times % heads).to(tl.int64), (row % times).to(tl.int64)
    lane, inside = tl.arange(0, WIDE)[None, :], (row < rows)[:, None]
    a = tl.load(y + (outer * y_batch + head * y_head + time * y_time)[:, None] + lane, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(dy + (outer * dy_batch + head * dy_head + time * dy_time)[:, None] + lane, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sum(a * b, 1), mask=row < rows)


@triton.jit
def _over_queries(
    dk, dv, keys, values, q, dy, sums, along, outer, head, heads, begin, end, first, last, times, scale,
    MASKED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    for start in tl.range(first, last, PASSING):
        query = start + tl.arange(0, PASSING)
        at = (outer * heads + head).to(tl.int64) * times + query
        queries, slopes = _tile(q, outer, head, start, PASSING, WIDE), _tile(dy, outer, head, start, PASSING, WIDE)
        sum_ = tl.load(sums + at, mask=query < times, other=0.0)
        scores = tl.dot(keys, queries.T) * scale - sum_[None, :]  # keys down, queries across
        moved = tl.dot(values, slopes.T)  # on its way while exponentials are made
        mass = tl.exp2(scores)
        if MASKED:
            mass = tl.where((query[None, :] >= begin[:, None]) & (query[None, :] < end[:, None]), mass, 0.0)
        dv = tl.dot(mass.to(slopes.dtype), slopes, dv)
        less = tl.load(along + at, mask=query < times, other=0.0)
        moved = mass * (moved - less[None, :])
        dk = tl.dot(moved.to(queries.dtype), queries, dk)
    return dk, dv


@triton.jit
def _backward_keys(
    q, k, v, dy, dk, dv, sums, along, edges, heads, group, times, scale, slope_scale,
    CAUSAL: tl.constexpr, PACKED: tl.constexpr, OWNED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    many = tl.cdiv(times, OWNED)
    row = tl.program_id(0) % (tl.num_programs(0) // many)
    start = tl.program_id(0) // (tl.num_programs(0) // many) * OWNED  # the first keys are seen by most
    outer, shared = row // (heads // group), row % (heads // group)
    key = start + tl.arange(0, OWNED)
    keys, values = _tile(k, outer, shared, start, OWNED, WIDE), _tile(v, outer, shared, start, OWNED, WIDE)
    for_keys, for_values = tl.zeros([OWNED, WIDE], tl.float32), tl.zeros([OWNED, WIDE], tl.float32)
    begin, end, low, high, clear, limit = _range_of(edges, key, start, times, OWNED, PACKED)
    if CAUSAL:
        begin, low, clear = tl.maximum(begin, key), start, tl.maximum(clear, start + OWNED)
    clear = low + tl.cdiv(clear - low, PASSING) * PASSING
    whole = clear + tl.maximum(limit - clear, 0) // PASSING * PASSING
    for head in range(shared * group, (shared + 1) * group):
        for_keys, for_values = _over_queries(
            for_keys, for_values, keys, values, q, dy, sums, along, outer, head, heads, begin, end, low, tl.minimum(clear, high), times, scale,
            True, PASSING, WIDE,
        )  # fmt: skip
        for_keys, for_values = _over_queries(
            for_keys, for_values, keys, values, q, dy, sums, along, outer, head, heads, begin, end, clear, whole, times, scale,
            False, PASSING, WIDE,
        )  # fmt: skip
        for_keys, for_values = _over_queries(
            for_keys, for_values, keys, values, q, dy, sums, along, outer, head, heads, begin, end, whole, high, times, scale,
            True, PASSING, WIDE,
        )  # fmt: skip
    dk.store([outer, shared, start, 0], (for_keys * slope_scale).to(dk.dtype).reshape([1, 1, OWNED, WIDE]))
    dv.store([outer, shared, start, 0], for_values.to(dv.dtype).reshape([1, 1, OWNED, WIDE]))


@triton.jit
def _over_keys_again(
    total, queries, slopes, k, v, sum_, less, outer, shared, begin, end, scale, first, last,
    MASKED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    for start in tl.range(first, last, PASSING):
        keys, values = _tile(k, outer, shared, start, PASSING, WIDE), _tile(v, outer, shared, start, PASSING, WIDE)
        scores = tl.dot(queries, keys.T) * scale - sum_[:, None]
        moved = tl.dot(slopes, values.T)  # on its way while exponentials are made
        mass = tl.exp2(scores)
        if MASKED:
            key = start + tl.arange(0, PASSING)[None, :]
            mass = tl.where((key >= begin[:, None]) & (key < end[:, None]), mass, 0.0)
        moved = mass * (moved - less[:, None])
        total = tl.dot(moved.to(keys.dtype), keys, total)
    return total


@triton.jit
def _backward_queries(
    q, k, v, dy, dq, sums, along, edges, heads, group, times, scale, slope_scale,
    CAUSAL: tl.constexpr, PACKED: tl.constexpr, OWNED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    row, start, outer, head, shared = _place_of(heads, group, times, OWNED)
    query = start + tl.arange(0, OWNED)
    queries, slopes = _tile(q, outer, head, start, OWNED, WIDE), _tile(dy, outer, head, start, OWNED, WIDE)
    at = row.to(tl.int64) * times + query
    sum_ = tl.load(sums + at, mask=query < times, other=0.0)
    less = tl.load(along + at, mask=query < times, other=0.0)
    total = tl.zeros([OWNED, WIDE], tl.float32)
    begin, end, low, high, clear, limit = _range_of(edges, query, start, times, OWNED, PACKED)
    if CAUSAL:
        end, high, limit = tl.minimum(end, query + 1), tl.minimum(start + OWNED, times), start
    if PACKED:
        clear = low + tl.cdiv(clear - low, PASSING) * PASSING
        total = _over_keys_again(
            total, queries, slopes, k, v, sum_, less, outer, shared, begin, end, scale, low, tl.minimum(clear, high), True, PASSING, WIDE
        )
    whole = clear + tl.maximum(limit - clear, 0) // PASSING * PASSING
    total = _over_keys_again(total, queries, slopes, k, v, sum_, less, outer, shared, begin, end, scale, clear, whole, False, PASSING, WIDE)
    total = _over_keys_again(total, queries, slopes, k, v, sum_, less, outer, shared, begin, end, scale, whole, high, True, PASSING, WIDE)
    dq.store([outer, head, start, 0], (total * slope_scale).to(dq.dtype).reshape([1, 1, OWNED, WIDE]))


_launch_along, _launch_forward = Launcher(_along), BlockLauncher(_forward_tiles)
_launch_keys, _launch_queries = BlockLauncher(_backward_keys), BlockLauncher(_backward_queries)


def _blocks(high: int, *tensors: Tensor) -> tuple[Block, ...]:
    return tuple((t, (1, 1, high, t.shape[3])) for t in tensors)


def attend(q: Tensor, k: Tensor, v: Tensor, y: Tensor, causal: bool, edges: Tensor | None = None) -> Tensor:
    """Writes y (B, H, T, K), as q is, k and v (B, G, T, K) → the log₂-sum-exp of each query's scores (B, H, T). edges: (2, T), int32."""
    outer, heads, times, wide = q.shape
    way = FORWARD if wide > 64 else FORWARD_NARROW
    sums = q.new_empty(q.shape[:3], dtype=torch.float32)
    q, k, v = reachable(q), reachable(k), reachable(v)
    (queries, out), (keys, values) = _blocks(way.own, q, y), _blocks(way.passing, k, v)
    blocks = (queries, keys, values, out)
    numbers = (heads, heads // k.shape[1], times, wide**-0.5 * _LOG2_E)
    constants = (causal, edges is not None, way.own, way.passing, wide)
    programs = outer * heads * -(-times // way.own)
    _launch_forward(programs, blocks, (sums, sums if edges is None else edges), numbers, constants, way.warps, way.stages)
    return sums


def attend_back(
    inputs: tuple[Tensor, ...],
    y: Tensor,
    sums: Tensor,
    dy: Tensor,
    made: list[Tensor],
    needed: Any,
    causal: bool,
    edges: Tensor | None = None,
) -> None:
    """Writes the gradients of q, k and v that are needed into `made`."""
    q, k, v, dy = (reachable(t) for t in (*inputs, dy))
    (outer, heads, times, wide), sharing = q.shape, k.shape[1]
    along, by = torch.empty_like(sums), sums if edges is None else edges
    numbers = (heads, heads // sharing, times, wide**-0.5 * _LOG2_E, wide**-0.5)
    rows = outer * heads * times
    steps = (*y.stride()[:3], *dy.stride()[:3])
    _launch_along(-(-rows // 16), (y, dy, along), (rows, wide, heads, times, *steps), (16, wide), 4)
    fixed = (causal, edges is not None)
    if needed[1] or needed[2]:
        way = FOR_KEYS
        (queries, slopes), (keys, values, dk, dv) = _blocks(way.passing, q, dy), _blocks(way.own, k, v, made[1], made[2])
        programs, constants = outer * sharing * -(-times // way.own), (*fixed, way.own, way.passing, wide)
        blocks = (queries, keys, values, slopes, dk, dv)
        _launch_keys(programs, blocks, (sums, along, by), numbers, constants, way.warps, way.stages)
    if needed[0]:
        way = FOR_QUERIES
        (queries, slopes, dq), (keys, values) = _blocks(way.own, q, dy, made[0]), _blocks(way.passing, k, v)
        programs, constants = outer * heads * -(-times // way.own), (*fixed, way.own, way.passing, wide)
        _launch_queries(programs, (queries, keys, values, slopes, dq), (sums, along, by), numbers, constants, way.warps, way.stages)
