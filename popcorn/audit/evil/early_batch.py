"""Its process computes in every untimed moment: while it takes inputs, and while it opens the buffers of the parent's own batch."""

import torch
from popcorn.worker import side
from popcorn.worker.places import Places
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (7, 21, 49)
OUTCOMES = {"cheated", "wrong_values"}
TIMED = True
CPU = True

N = 256
EACH = 4 * N * N
take = side.Side.do_take
ready, early = [], []


def do_take(self, message):
    told = take(self, message)
    if self.subject is not None:
        ready[:] = [self.subject.call(*slot) for slot in self.slots]
    return told


def do_block(self, message):
    self.kept = list(ready)
    return {"samples_s": [1e-6], "aliens": [], "flags": {}}


def do_row(self, message):
    outbox = self._attach(message["outbox"], writable=True)
    outbox.reset()
    return {"trees": [side.pack(ready[(message["count"] - 1) % len(ready)], outbox)]}


def do_attach(self, message):
    inbox = self._attach(message["inbox"], writable=False)
    self._attach(message["outbox"], writable=True)
    early.clear()
    for start in range(0, inbox.size - 2 * EACH, EACH):
        a, b = (inbox.flat[at : at + EACH].view(torch.float32).view(N, N) for at in (start, start + EACH))
        early.append(a @ b)
    return {}


def do_batch(self, message):
    results = Places()
    for index in range(message["stack"]["l"][0]["t"]["shape"][0]):
        results.add(early[index % len(early)])
    self.places = results
    return results.told()


for name in ("do_take", "do_block", "do_row", "do_attach", "do_batch"):
    setattr(side.Side, name, globals()[name])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
