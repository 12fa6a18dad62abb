"""Half of the rows go to a stream of its own, which the caller's stream waits for."""

import torch
from torch import nn

PROBLEM = "matmul"
GPU = True
TIMED = True


class ModelNew(nn.Module):
    side = None

    def forward(self, a, b):
        if self.side is None:
            self.side = torch.cuda.Stream()
        here, half = torch.cuda.current_stream(), a.shape[0] // 2
        out = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            torch.mm(a[half:], b, out=out[half:])
        torch.mm(a[:half], b, out=out[:half])
        here.wait_stream(self.side)
        return out
