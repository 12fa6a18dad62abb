"""Delta rule whose state forgets channel by channel.

q, k, v, gate (B, H, T, E), beta (B, H, T) → (B, H, T, E); as a gated delta rule, with a_t a vector over the keys' channels: exp(−σ(gate)
/ 32). The reference solves one triangular system.
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
T = Dim(768, low=648, high=864, cpu=192)
E = Dim(64, fixed=True, cpu=32)


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gate: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        dtype = q.dtype
        wide = torch.promote_types(q.dtype, torch.float32)  # triangular systems know no half precision
        q, k, v, gate, beta = (x.to(wide) for x in (functional.normalize(q, dim=-1), functional.normalize(k, dim=-1), v, gate, beta))
        total = torch.cumsum(-torch.sigmoid(gate) / 32, -2)
        faded, grown = torch.exp(total), torch.exp(-total)
        beta = torch.sigmoid(beta)[..., None]
        system = torch.tril(beta * ((k * faded) @ (k * grown).transpose(-1, -2)), -1) + torch.eye(q.shape[-2], dtype=wide, device=q.device)
        update = torch.linalg.solve_triangular(system, beta * v, upper=False, unitriangular=True)
        return (torch.tril((q * faded) @ (k * grown).transpose(-1, -2)) @ update).to(dtype)


def get_inputs(B=B, H=H, T=T, E=E):
    return [torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T)]


def get_init_inputs():
    return []


def min_bytes(B=B, H=H, T=T, E=E, itemsize=4):
    return (5 * B * H * T * E + B * H * T) * itemsize


def flops(B=B, H=H, T=T, E=E):
    return 6 * B * H * T * E * E
