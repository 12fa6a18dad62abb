"""Foreign files that say `device="cuda"`, on a machine without GPU: their tensors are made on the CPU. Needs torch."""

import contextlib
import re
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


def devices_here(tree: Any) -> Any:
    """Values that name a CUDA device (`"cuda"` among the arguments of a Model) as they are meant on this machine."""
    if torch.cuda.is_available():
        return tree
    if type(tree) in (list, tuple):
        return type(tree)(devices_here(item) for item in tree)
    if type(tree) is dict:
        return {key: devices_here(item) for key, item in tree.items()}
    here = _here(tree)
    return str(here) if isinstance(tree, str) else here


def _here(device: Any) -> Any:
    """The CPU in place of a CUDA device; anything else as it is."""
    if isinstance(device, torch.device | str) and re.fullmatch(r"cuda(:\d+)?", str(device)):
        return torch.device("cpu")
    return device
