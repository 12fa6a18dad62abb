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
def _spread(cuts, edges, rows, BLOCK: tl.constexpr):
    begin, end = tl.load(cuts + tl.program_id(0)).to(tl.int32), tl.load(cuts + tl.program_id(0) + 1).to(tl.int32)
    for start in range(begin, end, BLOCK):
        row = start + tl.arange(0, BLOCK)
        inside = (row < end) & (row < rows)
        tl.store(edges + row, begin + row * 0, mask=inside)
        tl.store(edges + rows + row, end + row * 0, mask=inside)


_launch_spread = Launcher(_spread)


def _edges_of(cuts: Tensor, rows: int) -> Tensor:
    """Where each row's sequence begins and ends, (2, N) in int32."""
    edges = torch.zeros((2, rows), dtype=torch.int32, device=cuts.device)
    _launch_spread(cuts.shape[0] - 1, (cuts.contiguous(), edges), (rows,), (1024,), 4)
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
