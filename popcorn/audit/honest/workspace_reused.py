"""A workspace is kept between calls; the result is fresh."""

import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True


class ModelNew(nn.Module):
    room = None

    def forward(self, x):
        if self.room is None or self.room.shape != x.shape:
            self.room = torch.empty_like(x)
        torch.sub(x, x.amax(-1, keepdim=True), out=self.room)
        self.room.exp_()
        return self.room / self.room.sum(-1, keepdim=True)
