"""Self-attention in Triton, for Hopper: scores of a tile stand in registers, never in memory. Needs torch and triton.

Bound by operations: 4·B·H·T²·K forward (half of it where causal), 2.5 times that backward at least. Forward: a program has 128 queries and goes over
keys and values, which come by TMA from where they lie (heads before or after positions), with a largest score and a sum for each query
(Dao, FlashAttention-2, 2023); tiles that the diagonal or the end does not cut are gone over without masks, long ones are started first.
Backward: one kernel goes over queries for each tile of keys, one over keys for each tile of queries, so each sum has one owner and a fixed order: the
same bits twice, for seven products where five would do with atomics. Heads that share keys are summed by the program that has those keys.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops import products
from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.products import described, reachable

LANGUAGE = "triton"
MULTIPLES = {"K": 64}
FORWARD = (128, 128, 8, 2)
"""Queries that a program has, keys of a step, warps, stages."""
BACKWARD = (128, 64, 8, 2)
"""The tile that a program keeps, those that it goes over, warps, stages."""
_LOG2_E = 1.4426950408889634


@triton.jit
def _tile(described, outer, head, at, HIGH: tl.constexpr, WIDE: tl.constexpr):
    return described.load([outer, head, at, 0]).reshape([HIGH, WIDE])


@triton.jit
def _over_keys(
    total, top, part, q, k, v, outer, shared, query, scale, first, last, times,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, KEYS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    for start in tl.range(first, last, KEYS):
        keys = _tile(k, outer, shared, start, KEYS, WIDE)
        scores = tl.dot(q, keys.T) * scale
        if MASKED:
            key = start + tl.arange(0, KEYS)[None, :]
            seen = key < times
            if CAUSAL:
                seen = seen & (key <= query[:, None])
            scores = tl.where(seen, scores, -1.0e30)
        higher = tl.maximum(top, tl.max(scores, 1))
        mass = tl.exp2(scores - higher[:, None])
        kept = tl.exp2(top - higher)
        part = part * kept + tl.sum(mass, 1)
        values = _tile(v, outer, shared, start, KEYS, WIDE)
        total = tl.dot(mass.to(values.dtype), values, total * kept[:, None])
        top = higher
    return total, top, part


@triton.jit
def _forward_tiles(
    q, k, v, y, sums, heads, group, times, scale,
    CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    many = tl.cdiv(times, QUERIES)
    row = tl.program_id(0) % (tl.num_programs(0) // many)
    start = (many - 1 - tl.program_id(0) // (tl.num_programs(0) // many)) * QUERIES
    outer, head = row // heads, row % heads
    query = start + tl.arange(0, QUERIES)
    queries = _tile(q, outer, head, start, QUERIES, WIDE)
    total = tl.zeros([QUERIES, WIDE], tl.float32)
    top = tl.full([QUERIES], -1.0e30, tl.float32)
    part = tl.zeros([QUERIES], tl.float32)
    whole = (start if CAUSAL else times) // KEYS * KEYS
    last = tl.minimum(start + QUERIES, times) if CAUSAL else times
    total, top, part = _over_keys(
        total, top, part, queries, k, v, outer, head // group, query, scale, 0, whole, times, False, CAUSAL, KEYS, WIDE
    )
    total, top, part = _over_keys(
        total, top, part, queries, k, v, outer, head // group, query, scale, whole, last, times, True, CAUSAL, KEYS, WIDE
    )
    tl.store(sums + row.to(tl.int64) * times + query, top + tl.log2(part), mask=query < times)
    y.store([outer, head, start, 0], (total / part[:, None]).to(y.dtype).reshape([1, 1, QUERIES, WIDE]))


@triton.jit
def _along(y, dy, out, heads, times, HIGH: tl.constexpr, WIDE: tl.constexpr):
    # Σ y dy of each query
    many = tl.cdiv(times, HIGH)
    row, start = tl.program_id(0) // many, tl.program_id(0) % many * HIGH
    a = _tile(y, row // heads, row % heads, start, HIGH, WIDE).to(tl.float32)
    b = _tile(dy, row // heads, row % heads, start, HIGH, WIDE).to(tl.float32)
    query = start + tl.arange(0, HIGH)
    tl.store(out + row.to(tl.int64) * times + query, tl.sum(a * b, 1), mask=query < times)


@triton.jit
def _keys_step(
    dk, dv, keys, values, q, dy, sums, along, outer, head, heads, key, start, times, scale,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    query = start + tl.arange(0, PASSING)
    at = (outer * heads + head).to(tl.int64) * times + query
    queries = _tile(q, outer, head, start, PASSING, WIDE)
    slopes = _tile(dy, outer, head, start, PASSING, WIDE)
    sum_ = tl.load(sums + at, mask=query < times, other=0.0)
    turned = tl.exp2(tl.dot(keys, queries.T) * scale - sum_[None, :])  # keys down, queries across
    if MASKED:
        seen = (query < times)[None, :] & (key < times)[:, None]
        if CAUSAL:
            seen = seen & (key[:, None] <= query[None, :])
        turned = tl.where(seen, turned, 0.0)
    dv = tl.dot(turned.to(slopes.dtype), slopes, dv)
    less = tl.load(along + at, mask=query < times, other=0.0)
    moved = turned * (tl.dot(values, slopes.T) - less[None, :])
    return tl.dot(moved.to(queries.dtype), queries, dk), dv


@triton.jit
def _backward_keys(
    q, k, v, dy, dk, dv, sums, along, heads, group, times, scale, slope_scale,
    CAUSAL: tl.constexpr, OWNED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    many = tl.cdiv(times, OWNED)
    row = tl.program_id(0) % (tl.num_programs(0) // many)
    start = tl.program_id(0) // (tl.num_programs(0) // many) * OWNED  # the first keys are seen by most
    outer, shared = row // (heads // group), row % (heads // group)
    key = start + tl.arange(0, OWNED)
    keys, values = _tile(k, outer, shared, start, OWNED, WIDE), _tile(v, outer, shared, start, OWNED, WIDE)
    for_keys = tl.zeros([OWNED, WIDE], tl.float32)
    for_values = tl.zeros([OWNED, WIDE], tl.float32)
    cut = start + OWNED <= times  # no key beyond the end
    clear = start + OWNED if CAUSAL else 0
    clear = clear if cut else times
    whole = tl.maximum(clear, times // PASSING * PASSING)
    for head in range(shared * group, (shared + 1) * group):
        for at in tl.range(start if CAUSAL else 0, tl.minimum(clear, times), PASSING):
            for_keys, for_values = _keys_step(
                for_keys,
                for_values,
                keys,
                values,
                q,
                dy,
                sums,
                along,
                outer,
                head,
                heads,
                key,
                at,
                times,
                scale,
                True,
                CAUSAL,
                PASSING,
                WIDE,
            )
        for at in tl.range(clear, whole, PASSING):
            for_keys, for_values = _keys_step(
                for_keys,
                for_values,
                keys,
                values,
                q,
                dy,
                sums,
                along,
                outer,
                head,
                heads,
                key,
                at,
                times,
                scale,
                False,
                CAUSAL,
                PASSING,
                WIDE,
            )
        for at in tl.range(whole, times, PASSING):
            for_keys, for_values = _keys_step(
                for_keys,
                for_values,
                keys,
                values,
                q,
                dy,
                sums,
                along,
                outer,
                head,
                heads,
                key,
                at,
                times,
                scale,
                True,
                CAUSAL,
                PASSING,
                WIDE,
            )
    dk.store([outer, shared, start, 0], (for_keys * slope_scale).to(dk.dtype).reshape([1, 1, OWNED, WIDE]))
    dv.store([outer, shared, start, 0], for_values.to(dv.dtype).reshape([1, 1, OWNED, WIDE]))


@triton.jit
def _over_keys_again(
    total, queries, slopes, k, v, sum_, less, outer, shared, query, scale, first, last, times,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    for start in tl.range(first, last, PASSING):
        keys = _tile(k, outer, shared, start, PASSING, WIDE)
        values = _tile(v, outer, shared, start, PASSING, WIDE)
        mass = tl.exp2(tl.dot(queries, keys.T) * scale - sum_[:, None])
        if MASKED:
            key = start + tl.arange(0, PASSING)[None, :]
            seen = key < times
            if CAUSAL:
                seen = seen & (key <= query[:, None])
            mass = tl.where(seen, mass, 0.0)
        moved = mass * (tl.dot(slopes, values.T) - less[:, None])
        total = tl.dot(moved.to(keys.dtype), keys, total)
    return total


@triton.jit
def _backward_queries(
    q, k, v, dy, dq, sums, along, heads, group, times, scale, slope_scale,
    CAUSAL: tl.constexpr, OWNED: tl.constexpr, PASSING: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    many = tl.cdiv(times, OWNED)
    row = tl.program_id(0) % (tl.num_programs(0) // many)
    start = (many - 1 - tl.program_id(0) // (tl.num_programs(0) // many)) * OWNED
    outer, head = row // heads, row % heads
    query = start + tl.arange(0, OWNED)
    queries, slopes = _tile(q, outer, head, start, OWNED, WIDE), _tile(dy, outer, head, start, OWNED, WIDE)
    at = row.to(tl.int64) * times + query
    sum_ = tl.load(sums + at, mask=query < times, other=0.0)
    less = tl.load(along + at, mask=query < times, other=0.0)
    total = tl.zeros([OWNED, WIDE], tl.float32)
    whole = (start if CAUSAL else times) // PASSING * PASSING
    last = tl.minimum(start + OWNED, times) if CAUSAL else times
    total = _over_keys_again(
        total, queries, slopes, k, v, sum_, less, outer, head // group, query, scale, 0, whole, times, False, CAUSAL, PASSING, WIDE
    )
    total = _over_keys_again(
        total, queries, slopes, k, v, sum_, less, outer, head // group, query, scale, whole, last, times, True, CAUSAL, PASSING, WIDE
    )
    dq.store([outer, head, start, 0], (total * slope_scale).to(dq.dtype).reshape([1, 1, OWNED, WIDE]))


def _described(t: Tensor, high: int) -> Any:
    return described(t, [1, 1, high, t.shape[3]])


def _forward(tensors: Any, scalars: Any) -> Any:
    q, k, v = (reachable(t) for t in tensors)
    outer, heads, times, wide = q.shape
    queries, keys, warps, stages = FORWARD
    y, sums = q.new_empty(q.shape), q.new_empty(q.shape[:3], dtype=torch.float32)
    described = (_described(q, queries), _described(k, keys), _described(v, keys), _described(y, queries))
    numbers = (heads, heads // k.shape[1], times, wide**-0.5 * _LOG2_E)
    with torch.cuda.device_of(q):
        _forward_tiles[(outer * heads * -(-times // queries),)](
            *described, sums, *numbers, bool(scalars[0]), queries, keys, wide, num_warps=warps, num_stages=stages
        )
    return (y,), (y, sums)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    (q, k, v), dy, (y, sums) = (reachable(t) for t in tensors), reachable(cotangents[0]), kept
    (outer, heads, times, wide), sharing = q.shape, k.shape[1]
    owned, passing, warps, stages = BACKWARD
    along = torch.empty_like(sums)
    dq, dk, dv = (t.new_empty(t.shape) for t in (q, k, v))
    tiles = outer * -(-times // owned)
    numbers = (heads, heads // sharing, times, wide**-0.5 * _LOG2_E, wide**-0.5)
    constants = (bool(scalars[0]), owned, passing, wide)
    options = {"num_warps": warps, "num_stages": stages}
    own, pass_ = ({n: _described(t, high) for n, t in zip("qkvy", (q, k, v, dy), strict=True)} for high in (owned, passing))
    with torch.cuda.device_of(q):
        _along[(tiles * heads,)](_described(y, owned), own["y"], along, heads, times, owned, wide, num_warps=4)
        if needed[1] or needed[2]:
            given = (pass_["q"], own["k"], own["v"], pass_["y"], _described(dk, owned), _described(dv, owned))
            _backward_keys[(tiles * sharing,)](*given, sums, along, *numbers, *constants, **options)
        if needed[0]:
            described = (own["q"], pass_["k"], pass_["v"], own["y"], _described(dq, owned))
            _backward_queries[(tiles * heads,)](*described, sums, along, *numbers, *constants, **options)
    return [dq if needed[0] else None, dk if needed[1] else None, dv if needed[2] else None]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda q, k, v, causal: [(q.shape, q.dtype)],
    needs(precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, K=(64, 128)), parts=(products,),
)  # fmt: skip


def run(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Any:
    """As the reference."""
    return _call((q, k, v), (causal,))
