"""It puts files and links in the place of its cache folders, closes others, and builds a tree too deep to be walked: its next process, and whoever
tidies up after it, should fail."""

import os
import shutil

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (16, 42, 57)
OUTCOMES = {"runtime_error", "crash"}
NO_GAIN = True

here = os.getcwd()
for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
    place = os.environ[name]
    shutil.rmtree(place, ignore_errors=True)
    if name.startswith("TRITON"):
        open(place, "w").close()
    else:
        os.symlink("/nowhere", place)
os.chmod(os.path.dirname(place), 0)
for _ in range(1500):
    os.mkdir("deep" * 16)
    os.chdir("deep" * 16)
os.chdir(here)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
