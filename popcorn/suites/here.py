"""Foreign files that say `device="cuda"`, on a machine without GPU: their tensors are made on the CPU. Needs torch."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CUDA_HERE = "it asks for a GPU; without one its inputs and weights are made on the CPU"


@contextlib.contextmanager
def cuda_means_here() -> Iterator[None]:
    """Within, on a machine without GPU: `device="cuda"`, `.cuda()`, `.to("cuda")` and `torch.Generator("cuda")` mean the CPU. Else nothing.

    It does not reach what asks `torch.cuda` itself (streams, device properties), nor extensions.
    """
    if torch.cuda.is_available():
        yield
        return
    generator = torch.Generator
    torch.Generator = _Generator  # type: ignore[misc]
    try:
        with _CudaMeansCpu():
            yield
    finally:
        torch.Generator = generator  # type: ignore[misc]


class _Generator(torch.Generator):
    """torch.Generator is a type of its own, which no function mode sees."""

    def __new__(cls, device: Any = "cpu") -> "_Generator":
        return super().__new__(cls, _here(device))  # type: ignore[call-arg]


class _CudaMeansCpu(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.cuda or func is torch.nn.Module.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = (args[0], *(_here(one) for one in args[1:]))
        named = {name: _here(value) if name == "device" else value for name, value in (kwargs or {}).items()}
        return func(*args, **named)


def _here(device: Any) -> Any:
    """The CPU in place of a CUDA device; anything else as it is."""
    if isinstance(device, torch.device | str) and str(device).split(":")[0] == "cuda":
        return torch.device("cpu")
    return device
