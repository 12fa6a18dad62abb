"""A Triton kernel, one program a row, with a choice of warps that is measured at the first call of a size."""

import torch
import triton
import triton.language as tl
from torch import nn

PROBLEM = "softmax"
GPU = True
TIMED = True


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 4)], key=["size"])
@triton.jit
def rows(x_ptr, out_ptr, row_step, step, size, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_step + at * step, mask=at < size, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * size + at, e / tl.sum(e, 0), mask=at < size)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        rows[(x.shape[0],)](x, out, x.stride(0), x.stride(1), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
