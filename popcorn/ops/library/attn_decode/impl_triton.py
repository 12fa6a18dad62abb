"""One step of decoding against a paged cache in Triton: pages are read where they are, once. Needs torch and triton.

Bound by memory: every key and value that counts is read once by one program for all heads that share it, 2·B·length·G·K elements. A sequence is
cut into spans, as many as keep the multiprocessors busy, each with a largest score, a sum and a weighted sum of its own; a second kernel brings the
spans of a head together (flash decoding, Dao et al., 2023). Lengths are read on the device, so a call waits for nothing. No gradients.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import power_of_two, processors

LANGUAGE = "triton"
_KEYS = 64
"""Tokens of a step."""
_LEAST = 256
"""Tokens of a span at least."""
_LOG2_E = 1.4426950408889634


@triton.jit
def _span(
    q, keys, values, table, lengths, parts, tops, sharing, group, page, pages, wide, spans, span, scale, page_step, token_step, head_step,
    HEADS: tl.constexpr, KEYS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    mine = tl.program_id(0) % spans
    shared, batch = tl.program_id(0) // spans % sharing, tl.program_id(0) // (spans * sharing)
    lane, head = tl.arange(0, WIDE), tl.arange(0, HEADS)
    row = (batch * sharing + shared).to(tl.int64) * group + head
    asked = tl.load(q + row[:, None] * wide + lane[None, :], mask=(head < group)[:, None] & (lane < wide)[None, :], other=0.0)
    first = mine * span
    last = tl.minimum(first + span, tl.load(lengths + batch)).to(tl.int32)
    top = tl.full([HEADS], -1.0e30, tl.float32)
    part = tl.zeros([HEADS], tl.float32)
    total = tl.zeros([HEADS, WIDE], tl.float32)
    for start in tl.range(first, last, KEYS):
        token = start + tl.arange(0, KEYS)
        known = token < last
        place = tl.load(table + batch.to(tl.int64) * pages + token // page, mask=known, other=0).to(tl.int64)
        at = place * page_step + (token % page).to(tl.int64) * token_step + shared * head_step
        inside = known[:, None] & (lane < wide)[None, :]
        k = tl.load(keys + at[:, None] + lane[None, :], mask=inside, other=0.0)
        v = tl.load(values + at[:, None] + lane[None, :], mask=inside, other=0.0)
        scores = tl.where(known[None, :], tl.dot(asked, k.T, input_precision="ieee") * scale, -1.0e30)
        higher = tl.maximum(top, tl.max(scores, 1))
        mass = tl.where(known[None, :], tl.exp2(scores - higher[:, None]), 0.0)
        kept = tl.exp2(top - higher)
        part = part * kept + tl.sum(mass, 1)
        total = total * kept[:, None] + tl.dot(mass.to(v.dtype), v, input_precision="ieee")
        top = higher
    out = row * spans + mine
    tl.store(tops + out, tl.where(part > 0.0, top + tl.log2(part), -1.0e30), mask=head < group)
    share = total / tl.where(part > 0.0, part, 1.0)[:, None]
    tl.store(parts + out[:, None] * wide + lane[None, :], share, mask=(head < group)[:, None] & (lane < wide)[None, :])


@triton.jit
def _together(parts, tops, y, spans, wide, SPANS: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    span, lane = tl.arange(0, SPANS), tl.arange(0, WIDE)[None, :]
    top = tl.load(tops + row * spans + span, mask=span < spans, other=-1.0e30)
    mass = tl.exp2(top - tl.max(top, 0))
    mass = tl.where(span < spans, mass / tl.sum(tl.where(span < spans, mass, 0.0), 0), 0.0)[:, None]
    inside = (span < spans)[:, None] & (lane < wide)
    v = tl.load(parts + (row * spans + span[:, None]) * wide + lane, mask=inside, other=0.0)
    lane = tl.arange(0, WIDE)
    tl.store(y + row * wide + lane, tl.sum(v * mass, 0).to(y.dtype.element_ty), mask=lane < wide)


_launch_span, _launch_together = Launcher(_span), Launcher(_together)


def _forward(tensors: Any, scalars: Any) -> Any:
    q, keys, values, table, lengths = tensors
    if keys.stride() != values.stride() or keys.stride(3) != 1:
        keys, values = keys.contiguous(), values.contiguous()
    (batches, heads, wide), page, sharing, pages = q.shape, keys.shape[1], keys.shape[2], table.shape[1]
    most = -(-3 * processors(q.get_device()) // (batches * sharing))
    tokens = pages * page
    span = max(_LEAST, -(-tokens // most // _KEYS) * _KEYS)
    spans = -(-tokens // span)
    parts = torch.empty((batches * heads * spans, wide), dtype=torch.float32, device=q.device)
    tops = parts.new_empty((batches * heads * spans,))
    width, many = max(16, power_of_two(wide)), max(16, power_of_two(heads // sharing))
    numbers = (sharing, heads // sharing, page, pages, wide, spans, span, wide**-0.5 * _LOG2_E, *keys.stride()[:3])
    given = (q.contiguous(), keys, values, table.contiguous(), lengths.contiguous(), parts, tops)
    _launch_span(batches * sharing * spans, given, numbers, (many, _KEYS, width), 4)
    y = q.new_empty(q.shape)
    _launch_together(batches * heads, (parts, tops, y), (spans, wide), (power_of_two(spans), width), 4)
    return (y,), ()


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, None, lambda q, keys, values, table, lengths: [(q.shape, q.dtype)], needs(K=(2, 256), backward=False)
)


def run(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, lengths: Tensor) -> Any:
    """As the reference."""
    return _call((q, keys, values, table, lengths))
