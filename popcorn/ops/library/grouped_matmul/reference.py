"""A product for each group of rows in plain torch; sizes are read on the host. Needs torch."""

import itertools

import torch
from torch import Tensor


def grouped_matmul(x: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """x (M, K), weight (E, K, N), ends (E) from 0 to M, not falling, the last one M → (M, N)."""
    cuts = [0, *ends.tolist()]
    pieces = [x[first:end] @ weight[e] for e, (first, end) in enumerate(itertools.pairwise(cuts))]
    return torch.cat(pieces)
