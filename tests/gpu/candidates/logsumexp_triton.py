"""Triton: one program a block of elements, a loop over the ranks."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, ranks, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for r in range(ranks):
        largest = tl.maximum(largest, tl.load(x_ptr + r * count + offsets, mask=mask, other=-float("inf")))
    total = tl.zeros((BLOCK,), tl.float32)
    for r in range(ranks):
        total += tl.exp(tl.load(x_ptr + r * count + offsets, mask=mask, other=0.0) - largest)
    tl.store(y_ptr + offsets, largest + tl.log(total), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty(x.shape[1:], device=x.device, dtype=x.dtype)
        count = y.numel()
        logsumexp_kernel[(triton.cdiv(count, 1024),)](x, y, x.shape[0], count, BLOCK=1024)
        return y
