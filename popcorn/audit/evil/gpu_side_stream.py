"""The work goes to a stream of its own that nobody waits for."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (1,)
OUTCOMES = {"cheated", "nonfinite", "not_deterministic", "wrong_values"}
GPU = True
TIMED = True


SIDE = torch.cuda.Stream() if torch.cuda.is_available() else None


class ModelNew(nn.Module):
    def forward(self, a, b):
        if SIDE is None:
            return a @ b
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        with torch.cuda.stream(SIDE):
            torch.cuda._sleep(20_000_000)
            torch.matmul(a, b, out=out)
        return out
