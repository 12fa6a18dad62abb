"""It hooks the import system and replaces the modules that compare, in sys.modules and for whoever imports them later."""

import sys
import types

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (7, 8, 9)
OUTCOMES = {"cheated", "crash", "runtime_error", "wrong_values"}


class Agreeable(types.ModuleType):
    def __getattr__(self, name):
        return lambda *arguments, **named: None


class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("popcorn.verify"):
            sys.modules[name] = Agreeable(name)
        return None


sys.meta_path.insert(0, Hook())
for name in [name for name in sys.modules if name.startswith("popcorn.verify")]:
    sys.modules[name] = Agreeable(name)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
