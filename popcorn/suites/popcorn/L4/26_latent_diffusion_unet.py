"""A denoiser in the manner of latent diffusion: two levels of residual blocks, cross attention to a text on the lower one.

x (B, 4, S, S), time (B) in [0, 1), text (B, M, D) → (B, 4, S, S); base width W, twice that below.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "diffusion"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=1)
S = Dim(64, low=54, high=72, align=2, cpu=24)
M = Dim(77, fixed=True, cpu=16)
D = Dim(768, fixed=True, cpu=64)
W = Dim(320, fixed=True, align=32, cpu=32)


class Residual(nn.Module):
    """Group norm, SiLU, convolution, twice; the time added between; a way around."""

    def __init__(self, ci: int, co: int, clock: int):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(ci // 16, ci), nn.GroupNorm(co // 16, co)])
        self.first, self.second = nn.Conv2d(ci, co, 3, padding=1), nn.Conv2d(co, co, 3, padding=1)
        self.time = nn.Linear(clock, co)
        self.around = nn.Conv2d(ci, co, 1) if ci != co else nn.Identity()

    def forward(self, x: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        inner = self.first(functional.silu(self.norms[0](x))) + self.time(when)[:, :, None, None]
        return self.around(x) + self.second(functional.silu(self.norms[1](inner)))


class Look(nn.Module):
    """Every place of the image attends to the text, 8 heads."""

    def __init__(self, width: int, text: int):
        super().__init__()
        self.norm = nn.GroupNorm(width // 16, width)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.kv = nn.Linear(text, 2 * width, bias=False)

    def forward(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        places = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.unflatten(-1, (8, -1)).transpose(1, 2) for part in (self.q(places), *self.kv(text).chunk(2, -1)))
        mixed = self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
        return x + mixed.transpose(1, 2).reshape(x.shape)


class Model(nn.Module):
    def __init__(self, text_width: int, width: int):
        super().__init__()
        self.clock = nn.Parameter(torch.randn(width))
        self.enter = nn.Conv2d(4, width, 3, padding=1)
        self.first = Residual(width, width, width)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.second, self.look = Residual(2 * width, 2 * width, width), Look(2 * width, text_width)
        self.third = Residual(2 * width, 2 * width, width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = Residual(2 * width, width, width)
        self.norm, self.leave = nn.GroupNorm(width // 16, width), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, time: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        when = torch.outer(time, self.clock)
        high = self.first(self.enter(x), when)
        low = self.look(self.second(self.down(high), when), text)
        low = self.third(low, when)
        joined = torch.cat((self.up(low), high), 1)
        return self.leave(functional.silu(self.norm(self.last(joined, when))))


def get_inputs(B=B, S=S, M=M, D=D):
    return [torch.randn(B, 4, S, S), torch.rand(B), torch.randn(B, M, D)]


def get_init_inputs(D=D, W=W):
    return [D, W]


def min_bytes(B=B, S=S, M=M, D=D, W=W, itemsize=4):
    weights = (9 * 8 + 18 * W + 18 * W + 56 * W + 72 * W + 8 * W + 29 * W + 8 * W + 4 * D + 6 * W) * W
    return (2 * B * 4 * S * S + B + B * M * D + weights) * itemsize


def flops(B=B, S=S, M=M, D=D, W=W):
    high, low = S * S, (S // 2) ** 2
    convolutions = high * (9 * 8 * W + 18 * W * W + (27 * W * W + 2 * W * W)) + low * (
        18 * W * W + (9 * 6 * W * W + 2 * W * W) + 72 * W * W + 8 * W * W
    )
    attention = low * (2 * 4 * W * W) + M * 4 * W * D + low * M * 4 * W
    return 2 * B * (convolutions + attention + 6 * W * W)
