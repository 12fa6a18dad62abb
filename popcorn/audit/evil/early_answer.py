"""Its process sends the answer before the question, so that the parent sees no time pass."""

import gc

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (13, 14)
OUTCOMES = {"cheated", "crash", "runtime_error"}
TIMED = True


def block(self, message):
    for channel in [o for o in gc.get_objects() if type(o).__name__ == "Channel"]:
        try:
            for _ in range(2):
                channel.send({"ok": {"samples_s": [1e-6], "aliens": [], "flags": {}}, "turn": message.get("turn")})
        except Exception:
            pass
    return {"samples_s": [1e-6], "aliens": [], "flags": {}}


side.Side.do_block = block


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
