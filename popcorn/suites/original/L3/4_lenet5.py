"""LeNet-5: two convolutions with pooling, three linear layers: x (B, 1, 32, 32) → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=256)
K = Dim(20, fixed=True, cpu=20)


class Model(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        convolutions = [nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
        linear = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes)]
        self.layers = nn.Sequential(*convolutions, nn.Flatten(), *linear)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B):
    return [torch.randn(B, 1, 32, 32)]


def get_init_inputs(K=K):
    return [K]


def min_bytes(B=B, K=K, itemsize=4):
    return (B * 1 * 32 * 32 + 6 * 26 + 16 * 151 + 401 * 120 + 121 * 84 + 85 * K + B * K) * itemsize


def flops(B=B, K=K):
    return 2 * B * (28 * 28 * 6 * 25 + 10 * 10 * 16 * 6 * 25 + 400 * 120 + 120 * 84 + 84 * K)
