"""Mean and variance of a Gaussian process at new points: x (N, D), y (N), z (M, D) → (M), (M).

Kernel exp(−|x − z|² / 2D), noise 0.5 + softplus(noise); through a Cholesky factor, in float32 at least.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True
TOLERANCE = {"float32": 1e-4}
TOLERANCE_WHY = "A system of thousands of equations whose condition is in the hundreds: rounding of the kernel is amplified."
FLOPS_WHY = "The factor and the triangular system, which torch's counter does not see."

N = Dim(2048, low=1730, high=2304, cpu=192)
M = Dim(4096, low=3461, high=4608, cpu=256)
D = Dim(16, fixed=True, cpu=16)


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """exp(−|a − b|² / 2D) of all pairs."""
    squared = a.square().sum(1)[:, None] + b.square().sum(1)[None] - 2 * (a @ b.T)
    return torch.exp(-squared.clamp_min(0) / (2 * a.shape[1]))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = nn.Parameter(torch.randn(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        wide = torch.promote_types(x.dtype, torch.float32)  # factors know no half precision
        x, y, z = x.to(wide), y.to(wide), z.to(wide)
        noise = 0.5 + functional.softplus(self.noise.to(wide))
        factor = torch.linalg.cholesky(kernel(x, x) + noise * torch.eye(x.shape[0], dtype=wide, device=x.device))
        seen = torch.linalg.solve_triangular(factor, torch.cat((kernel(x, z), y[:, None]), 1), upper=False)
        cross, target = seen[:, :-1], seen[:, -1]
        return (cross.T @ target).to(self.noise.dtype), (1 + noise - cross.square().sum(0)).to(self.noise.dtype)


def get_inputs(N=N, M=M, D=D):
    return [torch.randn(N, D), torch.randn(N), torch.randn(M, D)]


def get_init_inputs():
    return []


def min_bytes(N=N, M=M, D=D, itemsize=4):
    return (N * D + N + M * D + 1 + 2 * M) * itemsize


def flops(N=N, M=M):
    return N**3 // 3 + N * N * M
