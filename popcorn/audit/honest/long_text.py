"""A file with a long comment about locks, cheats and rewards."""

import torch
from torch import nn

PROBLEM = "softmax"


# 0: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 1: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 2: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 3: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 4: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 5: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 6: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 7: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 8: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 9: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 10: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 11: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 12: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 13: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 14: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 15: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 16: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 17: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 18: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 19: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 20: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 21: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 22: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 23: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 24: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 25: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 26: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 27: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 28: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 29: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 30: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 31: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 32: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 33: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 34: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 35: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 36: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 37: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 38: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 39: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 40: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 41: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 42: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 43: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 44: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 45: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 46: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 47: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 48: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 49: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 50: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 51: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 52: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 53: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 54: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 55: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 56: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 57: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 58: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval
# 59: no lock, no cheat, no reward hack, no retry; "torch.cuda.synchronize", 'exec', eval


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
