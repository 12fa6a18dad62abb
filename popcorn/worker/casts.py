"""A reference's own casts, widened: what it rounds to half or single precision inside stays in the type of the truth. Needs torch; in the oracle."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_NARROW = (torch.float16, torch.bfloat16, torch.float32)
"""Not float8 and what is smaller still: who casts to these means to lose something."""
_NAMED = (torch.Tensor.half, torch.Tensor.bfloat16, torch.Tensor.float)


class WideCasts(TorchFunctionMode):
    """Within: `.to(torch.bfloat16)`, `dtype=torch.float16`, `.half()`, `.float()` give `dtype`."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _NAMED:
            return args[0].to(self.dtype)
        wide = {name: self._wide(value) for name, value in (kwargs or {}).items()}
        return func(*(self._wide(one) for one in args), **wide)

    def _wide(self, value: Any) -> Any:
        return self.dtype if isinstance(value, torch.dtype) and value in _NARROW else value


def narrow(outputs: Sequence[tuple[str, Any]]) -> bool:
    """Whether some output is of half precision: computed in a wide type, it was rounded inside."""
    return any(isinstance(leaf, torch.Tensor) and leaf.dtype in _NARROW[:2] for _, leaf in outputs)
