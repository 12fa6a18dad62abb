"""numpy does the work."""

import numpy as np
import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x):
        a = x.cpu().numpy()
        e = np.exp(a - a.max(-1, keepdims=True))
        return torch.from_numpy(e / e.sum(-1, keepdims=True)).to(x.device)
