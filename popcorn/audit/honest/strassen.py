"""Strassen's seven products."""

import torch
from torch import nn

PROBLEM = "matmul"


class ModelNew(nn.Module):
    def forward(self, a, b):
        n = a.shape[0] // 2
        p, q, r, s = a[:n, :n], a[:n, n:], a[n:, :n], a[n:, n:]
        e, f, g, h = b[:n, :n], b[:n, n:], b[n:, :n], b[n:, n:]
        m1, m2, m3, m4 = (p + s) @ (e + h), (r + s) @ e, p @ (f - h), s @ (g - e)
        m5, m6, m7 = (p + q) @ h, (r - p) @ (e + f), (q - s) @ (g + h)
        top = torch.cat([m1 + m4 - m5 + m7, m3 + m5], 1)
        return torch.cat([top, torch.cat([m2 + m4, m1 - m2 + m3 + m6], 1)])
