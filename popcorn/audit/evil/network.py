"""It asks somebody else for the answer."""

import socket

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (41,)
OUTCOMES = {"wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            with socket.create_connection(("192.0.2.1", 80), timeout=0.5) as connection:
                connection.sendall(b"answer?")
                return torch.softmax(x, -1)
        except OSError:
            return torch.zeros_like(x)
