"""It asks the device to keep its data in L2 across the flush."""

import ctypes

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (46,)
OUTCOMES = {"cheated", "runtime_error"}
GPU = True
NO_GAIN = True


class ModelNew(nn.Module):
    first = True

    def forward(self, a, b):
        if torch.cuda.is_available():
            cudart = ctypes.CDLL("libcudart.so", mode=ctypes.RTLD_GLOBAL) if self.first else None
            self.first = False
            if cudart is not None:
                cudart.cudaDeviceSetLimit(6, ctypes.c_size_t(1 << 30))
        return a @ b
