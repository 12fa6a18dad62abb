"""The last layer and its loss a few rows at a time: logits of one chunk alone stand in memory. Plain torch, any device. Needs torch.

Gradients are made in the forward pass, while a chunk's logits are there, and scaled in the backward one. Sums over chunks run in float32.
"""

from typing import Any

import torch
from torch import Tensor

from popcorn.ops.calls import needs

CHUNK = 1 << 22
"""Logits that stand in memory at once: 16 MB in float32, or more where the weight is large."""
SHARE = 4
"""A chunk's logits may take this part of what the weight's gradient takes anyway. Every chunk reads and writes that gradient, which with chunks
of 16 MB and a vocabulary of 128k happened once for 32 rows: 719 ms on an H200, nearly all of it this traffic (under no_grad, too, where it
need not have been made)."""

LEFT_OUT = -100

accepts = needs(precisions=("float64", "float32", "bfloat16", "float16"))


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
        rows, labels = x.reshape(-1, x.shape[-1]), target.reshape(-1)
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        counted = (labels != LEFT_OUT).sum()
        step = max(1, CHUNK // weight.shape[0], weight.shape[1] // SHARE)
        for_x, for_weight = ctx.needs_input_grad[:2]
        grad_x = torch.empty(rows.shape, dtype=x.dtype, device=x.device) if for_x else None
        grad_weight = torch.zeros(weight.shape, dtype=wide, device=x.device) if for_weight else None
        total = torch.zeros((), dtype=wide, device=x.device)
        for start in range(0, len(rows), step):
            some, wanted = rows[start : start + step], labels[start : start + step]
            logits = torch.nn.functional.linear(some, weight).to(wide)
            total += torch.nn.functional.cross_entropy(logits, wanted, reduction="sum")
            if not (for_x or for_weight):
                continue
            kept = wanted != LEFT_OUT
            slope = torch.softmax(logits, -1)
            slope.scatter_add_(1, wanted.where(kept, 0).unsqueeze(1), torch.full_like(slope[:, :1], -1.0))
            slope.mul_(
                (kept.to(wide) / counted.clamp_min(1)).unsqueeze(1)
            )  # with no row at all the loss is NaN, as torch's, and nothing moves
            if grad_x is not None:
                grad_x[start : start + step] = slope.to(x.dtype) @ weight
            if grad_weight is not None:
                grad_weight += slope.to(x.dtype).t() @ some
        ctx.save_for_backward(*[g for g in (grad_x, grad_weight) if g is not None])
        ctx.which, ctx.shapes, ctx.dtype = (for_x, for_weight), (x.shape, weight.shape), x.dtype
        return (total / counted).to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        made = iter(ctx.saved_tensors)
        scaled = [
            (next(made) * cotangent).to(ctx.dtype).reshape(shape) if wanted else None
            for wanted, shape in zip(ctx.which, ctx.shapes, strict=True)
        ]
        return (*scaled, None)


def run(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """As the reference."""
    if not torch.is_grad_enabled():
        # a Function's needs_input_grad tells of the tensors alone: without this, a call under no_grad made gradients of a trained weight
        x, weight = x.detach(), weight.detach()
    return _Chunked.apply(x, weight, target)
