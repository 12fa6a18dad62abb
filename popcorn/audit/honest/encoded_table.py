"""Constants as base64 text in the file."""

import base64
import struct

import torch
from torch import nn

PROBLEM = "norm"


SCALE = struct.unpack("<4d", base64.b64decode("AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8="))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight * SCALE[0]
