"""Log-likelihood of counts under a Dirichlet-multinomial: count (B, K) int64, → (B), concentrations α = exp(log_alpha) (K).

log Γ(A) − log Γ(n + A) + Σ_k [log Γ(n_k + α_k) − log Γ(α_k)], A = Σ α, n = Σ n_k; computed in float32 at least.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "probabilistic"
DIFFERENTIABLE = True

B = Dim(32768, low=27688, high=36864, cpu=1024)
K = Dim(256, low=216, high=288, align=8, cpu=96)


class Model(nn.Module):
    def __init__(self, categories: int):
        super().__init__()
        self.log_alpha = nn.Parameter(0.5 * torch.randn(categories))

    def forward(self, count: torch.Tensor) -> torch.Tensor:
        wide = torch.promote_types(self.log_alpha.dtype, torch.float32)
        alpha, seen = self.log_alpha.to(wide).exp(), count.to(wide)
        each = (torch.lgamma(seen + alpha) - torch.lgamma(alpha)).sum(-1)
        total = alpha.sum()
        return (each + torch.lgamma(total) - torch.lgamma(seen.sum(-1) + total)).to(self.log_alpha.dtype)


def get_inputs(B=B, K=K):
    return [torch.randint(0, 20, (B, K))]


def get_init_inputs(K=K):
    return [K]


def min_bytes(B=B, K=K, itemsize=4):
    return (K + B) * itemsize + 8 * B * K


def flops(B=B, K=K):
    return 20 * B * K
