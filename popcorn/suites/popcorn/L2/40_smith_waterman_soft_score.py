"""Soft local alignment: log Σ over all local paths of exp(score), by dynamic programming.

match (B, T, T) → (B), H_ij = log(1 + exp(H_{i−1,j−1}) e^{match_ij} + exp(H_{i−1,j} − 1) + exp(H_{i,j−1} − 1)), result log Σ exp(H). The
recurrence is sequential over 2·T − 1 diagonals; each is one step for the whole batch.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(1024, low=865, high=1152, cpu=32)
T = Dim(128, low=108, high=144, cpu=32)


class Model(nn.Module):
    def forward(self, match: torch.Tensor) -> torch.Tensor:
        batch, size, _ = match.shape
        # diagonal d holds the cells i + j = d, at their row i
        row = torch.arange(size, device=match.device)
        column = torch.arange(2 * size - 1, device=match.device)[:, None] - row
        inside = (column >= 0) & (column < size)
        scores = match[:, row, column.clamp(0, size - 1)].masked_fill(~inside, -torch.inf)
        none = match.new_full((batch, 1), -torch.inf)
        before = last = match.new_full((batch, size), -torch.inf)
        zero, kept = torch.zeros_like(last), []
        for index in range(2 * size - 1):
            above, corner = torch.cat((none, last[:, :-1]), 1), torch.cat((none, before[:, :-1]), 1)
            paths = torch.stack((zero, torch.logaddexp(corner, zero) + scores[:, index], above - 1, last - 1))
            here = torch.logsumexp(paths, 0).masked_fill(~inside[index], -torch.inf)
            kept.append(torch.logsumexp(here, -1))
            before, last = last, here
        return torch.logsumexp(torch.stack(kept), 0)


def get_inputs(B=B, T=T):
    return [torch.randn(B, T, T)]


def get_init_inputs():
    return []


def min_bytes(B=B, T=T, itemsize=4):
    return (B * T * T + B) * itemsize


def flops(B=B, T=T):
    return 20 * B * T * T
