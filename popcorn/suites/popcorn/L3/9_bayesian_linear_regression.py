"""Posterior mean of many linear regressions: x (B, N, D), y (B, N) → (B, D).

(xᵀ x / N + softplus(prior) I)⁻¹ xᵀ y / N through a Cholesky factor, in float32 at least.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(512, low=432, high=576, cpu=32)
N = Dim(1024, low=865, high=1152, cpu=128)
D = Dim(64, low=56, high=80, align=8, cpu=24)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior = nn.Parameter(torch.randn(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)  # factors know no half precision
        x, y = x.to(wide), y.to(wide)
        prior = 0.1 + functional.softplus(self.prior.to(wide))
        gram = x.transpose(1, 2) @ x / x.shape[1] + prior * torch.eye(x.shape[2], dtype=wide, device=x.device)
        moment = (x.transpose(1, 2) @ y[..., None]) / x.shape[1]
        return torch.cholesky_solve(moment, torch.linalg.cholesky(gram))[..., 0].to(self.prior.dtype)


def get_inputs(B=B, N=N, D=D):
    return [torch.randn(B, N, D), torch.randn(B, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, N=N, D=D, itemsize=4):
    return (B * N * D + B * N + 1 + B * D) * itemsize


def flops(B=B, N=N, D=D):
    return 2 * B * N * D * (D + 1)
