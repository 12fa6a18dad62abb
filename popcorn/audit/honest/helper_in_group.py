"""A helper in a session of its own at import, stopped through its group."""

import os
import signal
import subprocess
import sys

import torch
from torch import nn

PROBLEM = "softmax"
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], start_new_session=True)
try:
    os.killpg(os.getpgid(helper.pid), signal.SIGTERM)
except ProcessLookupError:
    helper.terminate()
helper.wait()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
