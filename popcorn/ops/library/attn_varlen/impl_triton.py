"""Self-attention within packed sequences in Triton, for Hopper. Needs torch and triton.

Bound by operations: 4·H·K times the sum of squared lengths forward (half of it where causal), 3.5 times that backward. The packed rows are one long
sequence in which each query sees from where its own begins to where that ends; both are written for each row on the device, so a call waits for
nothing. See `attending`.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from popcorn.ops import attending, blocks
from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.launching import Launcher
from popcorn.ops.tiles import fresh

LANGUAGE = "triton"
MULTIPLES = attending.MULTIPLES


@triton.jit
def _spread(cuts, edges, rows, many, ROWS: tl.constexpr, CUTS: tl.constexpr):
    # of each row the last cut at or before it and the first one behind it; a row outside all sequences sees nothing
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    begin = tl.full([ROWS], -1, tl.int32)
    end = tl.full([ROWS], 2**31 - 1, tl.int32)
    for start in range(0, many, CUTS):
        at = start + tl.arange(0, CUTS)
        cut = tl.load(cuts + at, mask=at < many, other=-1).to(tl.int32)[None, :]
        before = cut <= row[:, None]
        begin = tl.maximum(begin, tl.max(tl.where(before, cut, -1), 1))
        end = tl.minimum(end, tl.min(tl.where(before, 2**31 - 1, cut), 1))
    known = (begin >= 0) & (end < 2**31 - 1)
    tl.store(edges + row, tl.where(known, begin, 0), mask=row < rows)
    tl.store(edges + rows + row, tl.where(known, end, 0), mask=row < rows)


_launch_spread = Launcher(_spread)


def _edges_of(cuts: Tensor, rows: int) -> Tensor:
    """Where each row's sequence begins and ends, (2, N) in int32."""
    edges = torch.empty((2, rows), dtype=torch.int32, device=cuts.device)
    _launch_spread(-(-rows // 128), (cuts.contiguous(), edges), (rows, cuts.shape[0]), (128, 16), 4)
    return edges


def _long(t: Tensor) -> Tensor:
    """(N, H, K) as one sequence, (1, H, N, K)."""
    return t.transpose(0, 1).unsqueeze(0)


def _forward(tensors: Any, scalars: Any) -> Any:
    q, k, v, cuts = tensors
    y, edges = fresh(q), _edges_of(cuts, q.shape[0])
    return (y,), (y, attending.attend(_long(q), _long(k), _long(v), _long(y), bool(scalars[0]), edges), edges)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    y, sums, edges = kept
    made = [fresh(t) for t in tensors[:3]]
    inputs = tuple(_long(t) for t in tensors[:3])
    attending.attend_back(
        inputs, _long(y), sums, _long(cotangents[0]), [_long(t) for t in made], needed, bool(scalars[0]), edges
    )  # fmt: skip
    return [*[one if wanted else None for one, wanted in zip(made, needed, strict=False)], None]


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda q, k, v, edges, causal: [(q.shape, q.dtype)],
    needs(precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, K=(64, 128), E=(2, 2**31 - 1)),
    parts=(attending, blocks),
)


def run(q: Tensor, k: Tensor, v: Tensor, edges: Tensor, causal: bool = True) -> Any:
    """As the reference."""
    return _call((q, k, v, edges), (causal,))
