"""Write a chunk of new keys and values into their caches, the keys rotated by their positions.

k, v (B, H, T, HD), caches (B, H, S, HD), start (B) int64 → both caches anew, with rows start[b] … start[b] + T − 1 of sequence b replaced.
The given caches stay as they are. Rotation over the two halves of a head, angles position·10000^(−2i/HD) held as tables in the model.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(8, low=6, high=10, cpu=4)
H = Dim(8, low=6, high=10, cpu=4)
S = Dim(4096, low=3584, high=4480, cpu=512)
T = Dim(256, low=160, high=320, cpu=64)
HD = Dim(128, fixed=True, cpu=128)


class Model(nn.Module):
    def __init__(self, positions: int, head_size: int):
        super().__init__()
        rate = 10000.0 ** (-torch.arange(0, head_size, 2, dtype=torch.float64) / head_size)
        angle = torch.outer(torch.arange(positions, dtype=torch.float64), rate)
        self.register_buffer("cos", angle.cos().to(torch.get_default_dtype()))
        self.register_buffer("sin", angle.sin().to(torch.get_default_dtype()))

    def forward(
        self, k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, start: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        position = start[:, None] + torch.arange(k.shape[2], device=k.device)
        cos, sin = self.cos[position][:, None], self.sin[position][:, None]
        first, second = k.chunk(2, dim=-1)
        rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        rows = position[:, None, :, None].expand_as(k)
        return k_cache.scatter(2, rows, rotated), v_cache.scatter(2, rows, v)


def get_inputs(B=B, H=H, S=S, T=T, HD=HD):
    new, cache = (B, H, T, HD), (B, H, S, HD)
    return [torch.randn(*new), torch.randn(*new), torch.randn(*cache), torch.randn(*cache), torch.randint(0, S - T + 1, (B,))]


def get_init_inputs(S=S, HD=HD):
    return [S, HD]


def valid(S, T):
    return T <= S


BYTES_WHY = "Rows that are replaced need not be read from the old caches: less than all inputs by 2·B·H·T·HD elements."


def min_bytes(B=B, H=H, S=S, T=T, HD=HD, itemsize=4):
    read = 2 * B * H * S * HD + min(S, B * T) * HD
    return (read + 2 * B * H * S * HD) * itemsize + 8 * B


def flops(B=B, H=H, T=T, HD=HD):
    return 3 * B * H * T * HD
