"""Many input sets of the same form as one tensor for each input: a batch of short calls must not spend its time unpacking. Needs torch."""

import math
from typing import Any

import torch

_ALIGNED_BYTES = 64
"""As torch's allocator on a CPU: each set begins where a tensor of its own would."""


def stacked(sets: list[list[Any]]) -> list[torch.Tensor] | None:
    """One tensor (sets, *shape) for each input, every set contiguous and aligned; None where sets are no lists of contiguous tensors of one form."""
    forms = {tuple((t.shape, t.dtype) if _plain(t) else None for t in one) for one in sets if isinstance(one, (list, tuple))}
    if len(forms) != 1 or None in (form := next(iter(forms))) or not form or any(not isinstance(one, (list, tuple)) for one in sets):
        return None
    return [_stack([one[index] for one in sets]) for index in range(len(form))]


def slots_of(wide: list[torch.Tensor]) -> list[tuple[list[Any], list[torch.Tensor]]]:
    """Input sets again, without copying, as a side holds them: no cotangents."""
    return [(list(row), []) for row in zip(*(tensor.unbind(0) for tensor in wide), strict=True)]


def _plain(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.numel() > 0 and value.is_contiguous()


def _stack(tensors: list[torch.Tensor]) -> torch.Tensor:
    first = tensors[0]
    per_line = max(1, _ALIGNED_BYTES // first.element_size())
    room = math.ceil(first.numel() / per_line) * per_line
    flat = torch.zeros(len(tensors), room, dtype=first.dtype, device=first.device)
    for row, tensor in zip(flat, tensors, strict=True):
        row[: first.numel()].copy_(tensor.detach().reshape(-1))
    return flat.as_strided((len(tensors), *first.shape), (room, *first.stride()))
