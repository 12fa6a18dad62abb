"""torch's global settings in this process, as plain values. Needs torch."""

from collections.abc import Callable
from typing import Any

import torch


def snapshot() -> dict[str, Any]:
    """Every setting that changes what a call computes or with what share of the machine."""
    return {**precision_flags(), **{name: _read(ask) for name, ask in _OTHERS.items()}}


def precision_flags() -> dict[str, Any]:
    """Those that the case's precision decides."""
    return {name: _read(ask) for name, ask in _PRECISION.items()}


def _read(ask: Callable[[], Any]) -> Any:
    try:
        value = ask()
    except RuntimeError as error:  # torch refuses to tell when its old and its new interface were mixed
        return f"unreadable: {error}"[:100]
    return value if isinstance(value, (bool, int)) else str(value)


_PRECISION: dict[str, Callable[[], Any]] = {
    "cuda_matmul_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "cudnn_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "matmul_precision": torch.get_float32_matmul_precision,
    "fp16_reduction": lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    "bf16_reduction": lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
}
_OTHERS: dict[str, Callable[[], Any]] = {
    "num_threads": torch.get_num_threads,
    "default_dtype": torch.get_default_dtype,
    "default_device": torch.get_default_device,
    "grad_enabled": torch.is_grad_enabled,
    "deterministic": torch.are_deterministic_algorithms_enabled,
    "cudnn_enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn_benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn_deterministic": lambda: torch.backends.cudnn.deterministic,
    "mkldnn_enabled": lambda: torch._C._get_mkldnn_enabled(),
}
