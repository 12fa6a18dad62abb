"""An op in C++: built once by content, called through the plain C interface, differentiable where it exports a backward. Needs torch.

The text is a file of the op's folder behind `include/popcorn_rows.h` and `popcorn_vectors.h`, and it keeps the contract of popcorn_kernel.h:
inputs, outputs, scalars in the signature's order. The last scalar is the number of threads. Beyond that contract, where `native` is told so: what a
forward pass keeps for its backward are further outputs of the one and further inputs of the other, and a gradient that nobody needs has no memory.
"""

import ctypes
import functools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from popcorn.devices.host import cache_folder
from popcorn.errors import PopcornError
from popcorn.ops.calls import ACCEPTED, Accepts, Answer, Call, Rejected
from popcorn.ops.registry import find_op
from popcorn.ops.traced import Outputs, OutputSpec, traced
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.native import build_native
from popcorn.toolchain.native_module import DTYPE_CODES
from popcorn.toolchain.result import BuildResult

INCLUDED = tuple(Path(__file__).parent / "include" / name for name in ("popcorn_rows.h", "popcorn_vectors.h"))
PRECISIONS = ("float64", "float32", "bfloat16", "float16")


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Arrays(threading.local):
    """Argument arrays by their layouts, one set for each thread: backward runs in a thread of its own."""

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}


@dataclass
class Kernel:
    """One native library of one op. Inputs of any layout: what is not contiguous is copied first."""

    path: Path
    outputs: Outputs
    differentiable: bool
    kept: Outputs | None = None
    """Shapes and types of what a forward pass keeps for its backward: row sums, say."""
    from_outputs: bool = False
    """Whether the backward pass takes the outputs in place of the inputs, whose shapes they have."""
    skips: bool = False
    """Whether the text passes over gradients without memory."""

    def __post_init__(self) -> None:
        self.source = read_source(self.path)
        self._arrays = _Arrays()

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """Built or found. Raises PopcornError with the compiler's first message when it cannot be built here."""
        built = self.build()
        if not built.ok:
            raise PopcornError(f"{self.path.name} does not build here: {built.reason}")
        return ctypes.CDLL(str(built.path))

    def build(self) -> BuildResult:
        """The library's build."""
        return build_native(self.source, "cpp", BuildCache(cache_folder() / "builds"))

    def numbers(self, scalars: Sequence[float]) -> Sequence[float]:
        """Scalars as the text takes them: the signature's, then the threads."""
        return (*scalars, torch.get_num_threads())

    def forward(self, tensors: Sequence[Tensor], scalars: Sequence[float]) -> tuple[Tensor, ...]:
        """New outputs."""
        return self._forward(tensors, scalars, ())

    def forward_keeping(self, tensors: Sequence[Tensor], scalars: Sequence[float]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """New outputs, and what `gradients` takes."""
        kept = self.kept(*tensors, *scalars) if self.kept is not None else ()
        made = self._forward(tensors, scalars, kept)
        outputs = made[: len(made) - len(kept)]
        return outputs, (*(outputs if self.from_outputs else tensors), *made[len(outputs) :])

    def _forward(self, tensors: Sequence[Tensor], scalars: Sequence[float], kept: Sequence[OutputSpec]) -> tuple[Tensor, ...]:
        device = tensors[0].device
        made = tuple(torch.empty(shape, dtype=dtype, device=device) for shape, dtype in (*self.outputs(*tensors, *scalars), *kept))
        given = [tensor.contiguous() for tensor in tensors]
        numbers = self._scalars(scalars)
        code = self.library.popcorn_forward(
            self._describe(given, 0), len(given), self._describe(made, 1), len(made), numbers, len(numbers), _stream(device)
        )
        if code != 0:
            raise RuntimeError(f"{self.path.name}: popcorn_forward returned {code}")
        return made

    def backward(self, tensors: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float]) -> list[Tensor | None]:
        """The gradient of every floating input, None for an index; what the forward pass keeps is made again."""
        again = self.kept is not None or self.from_outputs
        saved = self.forward_keeping(tensors, scalars)[1] if again else tensors
        return self.gradients(saved, cotangents, scalars, [t.is_floating_point() for t in tensors])

    def gradients(
        self, saved: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float], needed: Sequence[bool]
    ) -> list[Tensor | None]:
        """The gradients of the inputs that are needed, from what was saved; those of others may be made with them."""
        given = [tensor.contiguous() for tensor in saved]
        cotangents = [cotangent.contiguous() for cotangent in cotangents]
        made = [
            torch.empty(t.shape, dtype=t.dtype, device=t.device) if t.is_floating_point() and (wanted or not self.skips) else None
            for t, wanted in zip(given, needed, strict=False)  # what is kept comes last, and has no gradient
        ]
        places = [gradient for gradient, t in zip(made, given, strict=False) if t.is_floating_point()]
        numbers = self._scalars(scalars)
        code = self.library.popcorn_backward(
            self._describe(given, 2), len(given), self._describe(cotangents, 3), len(cotangents),
            self._describe(places, 4), len(places), numbers, len(numbers), _stream(given[0].device),
        )  # fmt: skip
        if code != 0:
            raise RuntimeError(f"{self.path.name}: popcorn_backward returned {code}")
        return made

    def _scalars(self, scalars: Sequence[float]) -> Any:
        values = self.numbers(scalars)
        return (ctypes.c_double * len(values))(*values)

    def _describe(self, tensors: Sequence[Tensor | None], place: int) -> Any:
        """Tensors as the C interface takes them; only the addresses change between calls of the same shapes."""
        key = (place, *[tensor if tensor is None else (tensor.shape, tensor.dtype) for tensor in tensors])
        found = self._arrays.made.get(key)
        if found is None:
            if len(self._arrays.made) > 256:
                self._arrays.made.clear()
            found = self._arrays.made[key] = _describe(tensors)
        array = found[0]
        for index, tensor in enumerate(tensors):
            if tensor is not None:
                array[index].data = tensor.data_ptr()
        return array


def _stream(device: torch.device) -> ctypes.c_void_p | None:
    """The current stream of a GPU; none on a CPU."""
    return ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream) if device.type == "cuda" else None


def _describe(tensors: Sequence[Tensor | None]) -> tuple[Any, list[Any]]:
    array, kept = (_Tensor * max(1, len(tensors)))(), []
    for slot, tensor in zip(array, tensors, strict=False):
        if tensor is None:
            continue
        row = ctypes.c_int64 * max(tensor.dim(), 1)
        shape, stride = row(*tensor.shape), row(*tensor.stride())
        slot.dtype, slot.ndim, slot.shape, slot.stride = DTYPE_CODES[tensor.dtype], tensor.dim(), shape, stride
        kept.append((shape, stride))  # the structure holds bare pointers
    return array, kept


def read_source(path: Path) -> str:
    """The whole text that is compiled."""
    return "\n".join(part.read_text(encoding="utf-8") for part in (*INCLUDED, path))


def a_row(x: Tensor, many: int) -> list[OutputSpec]:
    """So many numbers for each row of x, in the element type that sums run in: what a forward pass may keep."""
    return [((*x.shape[:-1], many), torch.float64 if x.dtype == torch.float64 else torch.float32)]


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Kernel, scalars: tuple[float, ...], *tensors: Tensor) -> Any:
        outputs, saved = kernel.forward_keeping(tensors, scalars)
        ctx.kernel, ctx.scalars = kernel, scalars
        ctx.save_for_backward(*saved)
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        return (None, None, *ctx.kernel.gradients(ctx.saved_tensors, cotangents, ctx.scalars, ctx.needs_input_grad[2:]))


def native(
    path: Path, outputs: Outputs, differentiable: bool = True, precisions: Sequence[str] = PRECISIONS, kept: Outputs | None = None,
    from_outputs: bool = False, skips: bool = False,
) -> tuple[Callable[..., Any], Accepts, str, Callable[..., Any]]:
    """(call, accepts, source, operator for torch.compile) of an op in C++ with the C interface: `call(tensors, scalars)` gives the output or a tuple of outputs."""
    kernel = Kernel(path, outputs, differentiable, kept, from_outputs, skips)

    def call(tensors: tuple[Tensor, ...], scalars: tuple[float, ...] = ()) -> Any:
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if not differentiable:
                raise NotImplementedError(f"{path.parent.name} has no backward here; ask for another implementation")
            return _Differentiable.apply(kernel, scalars, *tensors)
        made = kernel.forward(tensors, scalars)
        return made[0] if len(made) == 1 else made

    def accepts(asked: Call) -> Answer:
        if asked.device != "cpu":
            return Rejected(f"runs on cpu only; the call is on {asked.device}")
        if asked.autocast or asked.precision not in precisions:
            return Rejected(f"takes {', '.join(precisions)} without autocast; the call is in {asked.precision}")
        if asked.gradient and not differentiable:
            return Rejected("has no backward")
        if math.prod(asked.dims.values()) == 0:
            return Rejected("takes no empty tensors")
        try:
            _ = kernel.library
        except PopcornError as error:
            return Rejected(str(error))
        return ACCEPTED

    name = path.parent.name
    signature = find_op(name).signature
    return call, accepts, kernel.source, traced(name, signature, kernel)
