"""Its process does nothing in a block, claims a microsecond, and computes only the outputs that are asked for."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (6, 7, 8, 21)
CAUGHT_BY = "clock"
TIMED = True


def block(self, message):
    return {"samples_s": [1e-6], "aliens": [], "flags": {}}


def give(self, message):
    outbox = self._attach(message["outbox"], writable=True)
    outbox.reset()
    return {"trees": [side.pack(self.subject.call(*self.slots[index]), outbox) for index in message["indices"]]}


side.Side.do_block, side.Side.do_give = block, give


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
