"""torch's global settings in this process, and the functions that time and judge, as plain values. Needs torch."""

import contextlib
import time
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch


def snapshot() -> dict[str, Any]:
    """Every setting that changes what a call computes or with what share of the machine."""
    return {**precision_flags(), **{name: _read(ask) for name, ask in _OTHERS.items()}, **_functions()}


def precision_flags() -> dict[str, Any]:
    """Those that the case's precision decides."""
    return {name: _read(ask) for name, ask in _PRECISION.items()}


def restore_precision(clean: dict[str, Any]) -> None:
    """Every precision flag as it was in `clean`, whatever was switched meanwhile; one that torch refuses to tell or to take stays."""
    for name, write in _WRITE.items():
        with contextlib.suppress(RuntimeError):
            if clean[name] != _read(_PRECISION[name]):
                write(clean[name])


def _functions() -> dict[str, str]:
    """Which object stands behind each name that only somebody who wants another verdict would give another one."""
    roots = {"time": time, "torch": torch}
    return {f"function {name}": _identity(roots, name) for name in _FUNCTIONS}


def _identity(roots: dict[str, Any], name: str) -> str:
    root, _, rest = name.partition(".")
    try:
        found = attrgetter(rest)(roots[root])
    except AttributeError:
        return "missing"
    return f"{getattr(found, '__qualname__', type(found).__name__)} at {id(found):#x}"[:120]


def _read(ask: Callable[[], Any]) -> Any:
    try:
        value = ask()
    except RuntimeError as error:  # torch refuses to tell when its old and its new interface were mixed
        return f"unreadable: {error}"[:100]
    return value if isinstance(value, (bool, int)) else str(value)


_FUNCTIONS = (
    "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns", "time.time", "time.time_ns", "time.process_time",
    "torch.cuda.synchronize", "torch.cuda.Event", "torch.cuda.Event.record", "torch.cuda.Event.elapsed_time", "torch.cuda.Event.synchronize",
    "torch.cuda.Stream.synchronize", "torch.cuda._sleep", "torch.allclose", "torch.isclose", "torch.equal", "torch.testing.assert_close",
    "torch.manual_seed", "torch.Tensor.clone", "torch.Tensor.copy_", "torch.Tensor.data_ptr",
)  # fmt: skip

_PRECISION: dict[str, Callable[[], Any]] = {
    "cuda_matmul_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "cudnn_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "matmul_precision": torch.get_float32_matmul_precision,
    "fp16_reduction": lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    "bf16_reduction": lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
}
_WRITE: dict[str, Callable[[Any], None]] = {
    "matmul_precision": torch.set_float32_matmul_precision,  # first: it moves the others
    "cuda_matmul_tf32": lambda value: setattr(torch.backends.cuda.matmul, "allow_tf32", value),
    "cudnn_tf32": lambda value: setattr(torch.backends.cudnn, "allow_tf32", value),
    "fp16_reduction": lambda value: setattr(torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", value),
    "bf16_reduction": lambda value: setattr(torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction", value),
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
