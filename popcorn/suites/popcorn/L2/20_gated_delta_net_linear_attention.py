"""Gated delta rule: a state S (E × E) per head forgets, is corrected, and is read.

q, k, v (B, H, T, E), gate, beta (B, H, T) → (B, H, T, E); q, k normalised; S_t = a_t S_{t−1} + b_t k_t (v_t − a_t k_tᵀ S_{t−1})ᵀ, out_t =
q_tᵀ S_t, a = exp(−softplus(gate) / 16), b = σ(beta). The reference solves one triangular system.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True
FLOPS_WHY = "The recurrence over a state of E × E needs these; the reference solves for a sequence at once, at quadratic cost."

B = Dim(4, low=2, high=5, cpu=1)
H = Dim(16, low=11, high=21, cpu=4)
T = Dim(1024, low=865, high=1152, cpu=192)
E = Dim(64, fixed=True, cpu=32)


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gate: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        dtype = q.dtype
        wide = torch.promote_types(q.dtype, torch.float32)  # triangular systems know no half precision
        q, k, v, gate, beta = (x.to(wide) for x in (functional.normalize(q, dim=-1), functional.normalize(k, dim=-1), v, gate, beta))
        total = torch.cumsum(-functional.softplus(gate) / 16, -1)
        decay = torch.exp(torch.tril(total[..., :, None] - total[..., None, :]))
        beta = torch.sigmoid(beta)[..., None]
        system = torch.tril(beta * (k @ k.transpose(-1, -2)) * decay, -1) + torch.eye(q.shape[-2], dtype=wide, device=q.device)
        update = torch.linalg.solve_triangular(system, beta * v, upper=False, unitriangular=True)
        return (torch.tril((q @ k.transpose(-1, -2)) * decay) @ update).to(dtype)


def get_inputs(B=B, H=H, T=T, E=E):
    return [torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T), torch.randn(B, H, T)]


def get_init_inputs():
    return []


def min_bytes(B=B, H=H, T=T, E=E, itemsize=4):
    return (4 * B * H * T * E + 2 * B * H * T) * itemsize


def flops(B=B, H=H, T=T, E=E):
    return 6 * B * H * T * E * E
