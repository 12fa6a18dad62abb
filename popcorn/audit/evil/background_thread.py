"""The call returns an empty tensor at once; a thread fills it later."""

import threading
import time

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (2,)
OUTCOMES = {"nonfinite", "not_deterministic", "wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)

        def fill():
            time.sleep(0.05)
            out.copy_(torch.softmax(x, -1))

        threading.Thread(target=fill, daemon=True).start()
        return out
