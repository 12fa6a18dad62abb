"""Cross attention with rotary positions on queries and keys: x (B, T, D) looks at memory (B, S, D) → (B, T, D), H heads."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=2)
T = Dim(1024, low=865, high=1152, cpu=96)
S = Dim(2048, low=1730, high=2304, cpu=128)
D = Dim(1024, low=896, high=1216, align=64, cpu=192)
H = Dim(8, fixed=True, cpu=4)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """x (…, T, E) turned by its position, over the two halves of E; angles position · 10000^(−2i/E)."""
    time, size = x.shape[-2:]
    rate = 10000.0 ** (-torch.arange(0, size, 2, device=x.device, dtype=torch.float64) / size)
    angle = torch.outer(torch.arange(time, device=x.device, dtype=torch.float64), rate)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q = self.q(x).view(batch, time, self.heads, -1).transpose(1, 2)
        k, v = (part.view(batch, memory.shape[1], self.heads, -1).transpose(1, 2) for part in self.kv(memory).chunk(2, -1))
        mixed = functional.scaled_dot_product_attention(rotate(q), rotate(k), v)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


def get_inputs(B=B, T=T, S=S, D=D):
    return [torch.randn(B, T, D), torch.randn(B, S, D)]


def get_init_inputs(D=D, H=H):
    return [D, H]


def min_bytes(B=B, T=T, S=S, D=D, itemsize=4):
    return (2 * B * T * D + B * S * D + 4 * D * D) * itemsize


def flops(B=B, T=T, S=S, D=D):
    return 4 * B * T * D * D + 4 * B * S * D * D + 4 * B * T * S * D
