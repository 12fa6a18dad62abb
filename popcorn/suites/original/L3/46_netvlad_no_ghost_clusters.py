"""NetVLAD: features of a video gathered around K centres: x (B, T, D) → (B, D·K).

Soft assignment by a linear layer and softmax; residuals to the centres summed, normalised for each cluster and then whole.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(512, fixed=True, cpu=8)
T = Dim(128, fixed=True, cpu=64)
D = Dim(512, fixed=True, cpu=128)
K = Dim(32, fixed=True, cpu=32)


class Model(nn.Module):
    def __init__(self, width: int, clusters: int):
        super().__init__()
        self.assign = nn.Parameter(torch.randn(width, clusters) / width**0.5)
        self.bias = nn.Parameter(torch.randn(clusters))
        self.centres = nn.Parameter(torch.randn(width, clusters) / width**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share = torch.softmax(x @ self.assign + self.bias, -1)
        gathered = x.transpose(1, 2) @ share - share.sum(1, keepdim=True) * self.centres
        gathered = functional.normalize(gathered, dim=1)
        return functional.normalize(gathered.flatten(1), dim=1)


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, K=K):
    return [D, K]


def min_bytes(B=B, T=T, D=D, K=K, itemsize=4):
    return (B * T * D + D * K + K + D * K + B * (D * K)) * itemsize


def flops(B=B, T=T, D=D, K=K):
    return 2 * B * T * D * (K + K)
