"""It copies to pinned memory of the host and back, and waits."""

import torch
from torch import nn

PROBLEM = "softmax"
GPU = True
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x):
        host = torch.empty(x.shape, pin_memory=True)
        host.copy_(torch.softmax(x, -1), non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return host.to(x.device)
