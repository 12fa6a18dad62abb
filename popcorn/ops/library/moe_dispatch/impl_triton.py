"""Tokens gathered by expert, in torch's sort and Triton. Needs torch and triton.

Bound by memory: x read once for each choice (from L2 as a rule), the rows written, (1 + A)·N·D elements; the sort of N·A numbers is torch's. Backward:
each token adds the gradients of its own rows, (1 + A)·N·D, where indexing's own backward sorts once more and adds a row after the other.
"""

from typing import Any

import torch
from torch import Tensor

from popcorn.ops import slots
from popcorn.ops.gpu import gpu

LANGUAGE = "triton"


def _forward(tensors: Any, scalars: Any) -> Any:
    x, index = tensors
    flat = index.reshape(-1).contiguous()
    order = torch.sort(flat, stable=True).indices
    rows, place = slots.gather(x, order, index.shape[1])
    return (rows, order, slots.count(flat, int(scalars[0]))), (place,)


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    return [slots.gather_sum(cotangents[0], kept[0], tensors[1].shape[1]), None]


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda x, index, experts: [((index.numel(), x.shape[1]), x.dtype), ((index.numel(),), torch.int64), ((experts,), torch.int64)],
    parts=(slots,),
)


def run(x: Tensor, index: Tensor, experts: int = 8) -> Any:
    """As the reference."""
    return _call((x, index), (experts,))
