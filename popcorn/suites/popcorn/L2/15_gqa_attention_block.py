"""Causal attention with grouped key and value heads, projections included.

x (B, T, KV·G·HD) → the same shape: q has KV·G heads, k and v have KV; each key head serves G query heads. Scores are scaled by 1/√HD.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(2, low=1, high=3, cpu=1)
T = Dim(2048, low=1664, high=2304, cpu=256)
KV = Dim(4, low=2, high=6, cpu=2)
G = Dim(4, fixed=True, cpu=4)
HD = Dim(128, fixed=True, cpu=64)


class Model(nn.Module):
    def __init__(self, kv_heads: int, group: int, head_size: int):
        super().__init__()
        width = kv_heads * group * head_size
        self.kv_heads, self.group, self.head_size = kv_heads, group, head_size
        self.query = nn.Linear(width, width)
        # no bias: softmax would cancel it
        self.key = nn.Linear(width, kv_heads * head_size, bias=False)
        self.value = nn.Linear(width, kv_heads * head_size)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q = self.query(x).view(batch, time, -1, self.head_size).transpose(1, 2)
        k = self.key(x).view(batch, time, self.kv_heads, self.head_size).transpose(1, 2)
        v = self.value(x).view(batch, time, self.kv_heads, self.head_size).transpose(1, 2)
        k, v = k.repeat_interleave(self.group, dim=1), v.repeat_interleave(self.group, dim=1)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


def get_inputs(B=B, T=T, KV=KV, G=G, HD=HD):
    return [torch.randn(B, T, KV * G * HD)]


def get_init_inputs(KV=KV, G=G, HD=HD):
    return [KV, G, HD]


def min_bytes(B=B, T=T, KV=KV, G=G, HD=HD, itemsize=4):
    width, narrow = KV * G * HD, KV * HD
    weights = 2 * (width + 1) * width + (2 * width + 1) * narrow
    return (2 * B * T * width + weights) * itemsize


def flops(B=B, T=T, KV=KV, G=G, HD=HD):
    width, narrow = KV * G * HD, KV * HD
    projections = 2 * B * T * width * (2 * width + 2 * narrow)
    return projections + 4 * B * width * T * (T + 1) // 2
