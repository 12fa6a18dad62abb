"""It draws random numbers for a check of its own and puts the generator back."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        state = torch.get_rng_state()
        sample = int(torch.randint(x.shape[0], (1,)))
        torch.set_rng_state(state)
        y = torch.softmax(x, -1)
        assert abs(float(y[sample].sum()) - 1) < 1e-3
        return y
