"""Its process answers the parent's row and batch at once, and a thread fills the results after the answer."""

import threading

import torch
from popcorn.worker import side
from popcorn.worker.places import Places
from torch import nn

PROBLEM = "matmul"
CPU = True
CATALOGUE = (2, 6, 14)
OUTCOMES = {"cheated", "wrong_values"}
TIMED = True


def block(self, message):
    return {"samples_s": [1e-6], "aliens": [], "flags": {}}


def give(self, message):
    outbox = self._attach(message["outbox"], writable=True)
    outbox.reset()
    return {"trees": [side.pack(self.subject.call(*self.slots[index]), outbox) for index in message["indices"]]}


def batch(self, message):
    slots = self._slots(message, private=False)
    results = Places()
    for _ in slots:
        results.add(torch.zeros(256, 256))

    def fill():
        for slot, place in zip(slots, results.results, strict=True):
            place.copy_(self.subject.call(*slot))

    threading.Thread(target=fill, daemon=True).start()
    self.places = results
    return results.told()


def row(self, message):
    outbox = self._attach(message["outbox"], writable=True)
    outbox.reset()
    tree = side.pack(torch.zeros(256, 256), outbox)

    def fill():
        outbox.reset()
        side.pack(self.subject.call(*self.slots[(message["count"] - 1) % len(self.slots)]), outbox)

    threading.Thread(target=fill, daemon=True).start()
    return {"trees": [tree]}


side.Side.do_block, side.Side.do_give, side.Side.do_batch, side.Side.do_row = block, give, batch, row


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
