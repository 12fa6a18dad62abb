"""AlexNet without dropout: five convolutions, three poolings, three linear layers: x (B, 3, 224, 224) → (B, K), hidden width F."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=2)
F = Dim(4096, fixed=True, cpu=256)
K = Dim(1000, fixed=True, cpu=64)


class Model(nn.Module):
    def __init__(self, hidden: int, classes: int):
        super().__init__()
        pool = nn.MaxPool2d(3, 2)
        convolutions = [
            nn.Conv2d(3, 64, 11, 4, 2),
            nn.ReLU(),
            pool,
            nn.Conv2d(64, 192, 5, 1, 2),
            nn.ReLU(),
            pool,
            nn.Conv2d(192, 384, 3, 1, 1),
        ]
        convolutions += [nn.ReLU(), nn.Conv2d(384, 256, 3, 1, 1), nn.ReLU(), nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(), pool]
        linear = [nn.Linear(9216, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)]
        self.layers = nn.Sequential(*convolutions, nn.Flatten(), *linear)
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B):
    return [torch.randn(B, 3, 224, 224)]


def get_init_inputs(F=F, K=K):
    return [F, K]


def min_bytes(B=B, F=F, K=K, itemsize=4):
    return (
        B * 3 * 224 * 224 + 64 * 364 + 192 * 1601 + 384 * 1729 + 256 * 3457 + 256 * 2305 + 9217 * F + (F + 1) * F + (F + 1) * K + B * K
    ) * itemsize


def flops(B=B, F=F, K=K):
    return 2 * B * (55 * 55 * 64 * 363 + 27 * 27 * 192 * 1600 + 13 * 13 * (384 * 1728 + 256 * 3456 + 256 * 2304) + 9216 * F + F * F + F * K)
