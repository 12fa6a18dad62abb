"""It hangs in a thread that holds everything up."""

import time

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (57,)
OUTCOMES = {"timeout"}


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(3600)
