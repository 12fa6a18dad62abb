"""It ends the process with success in the middle of a trial, so that the last result would stay."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (14, 16)
OUTCOMES = {"crash"}


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
