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

from popcorn.errors import PopcornError
from popcorn.home import cache_folder
from popcorn.ops.calls import ACCEPTED, Accepts, Answer, Call, Rejected
from popcorn.ops.registry import Op, find_op
from popcorn.ops.signature import Mismatch
from popcorn.ops.traced import Outputs, OutputSpec, traced
from popcorn.ops.twice import gradients_of_reference
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.native import build_native
from popcorn.toolchain.native_module import DTYPE_CODES
from popcorn.toolchain.result import BuildResult

INCLUDED = tuple(Path(__file__).parent / "include" / name for name in ("popcorn_rows.h", "popcorn_vectors.h"))
PRECISIONS = ("float64", "float32", "bfloat16", "float16")


_REFUSALS = {2: "a size that it does not take", 3: "an index, or a scalar, outside of its range"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
    ]


@dataclass(frozen=True)
class _Prepared:
    """A call's arguments but for the addresses of its tensors."""

    function: Any
    arguments: tuple[int, ...]
    slots: list[_Tensor]
    kept: list[Any]
    """What bare pointers point to."""


class _Calls(threading.local):
    """Prepared calls by their layouts, one set for each thread: backward runs in a thread of its own."""

    def __init__(self) -> None:
        self.made: dict[Any, _Prepared] = {}


@dataclass
class Kernel:
    """One native library of one op. Inputs of any layout: what is not contiguous is copied first."""

    path: Path
    op: Op
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
        self._calls = _Calls()

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
        self._call("popcorn_forward", (given, made), scalars)
        return made

    def _check(self, tensors: Sequence[Tensor]) -> None:
        """Raises Mismatch for sizes, element types and places that the text would take for others: it trusts what it is given."""
        inputs = list(zip(self.op.signature.inputs, tensors, strict=True))
        self.op.signature.read_dims(tensors)
        floating = next((tensor for spec, tensor in inputs if not spec.whole), tensors[0])
        for spec, tensor in inputs:
            wanted = getattr(torch, spec.whole) if spec.whole else floating.dtype
            if tensor.dtype != wanted or tensor.device != floating.device or not (spec.whole or wanted.is_floating_point):
                raise Mismatch(
                    f"{spec.name} is {tensor.dtype} on {tensor.device}; {self.path.name} takes {wanted if spec.whole else 'one floating type'} "
                    f"there, on one device; {self.path.stem} itself takes what its reference takes"
                )

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
        cotangents = [one.contiguous() for one in cotangents if one is not None and one.is_floating_point()]
        made = [
            torch.empty(t.shape, dtype=t.dtype, device=t.device) if t.is_floating_point() and (wanted or not self.skips) else None
            for t, wanted in zip(given, needed, strict=False)  # what is kept comes last, and has no gradient
        ]
        places = [gradient for gradient, t in zip(made, given, strict=False) if t.is_floating_point()]
        self._call("popcorn_backward", (given, cotangents, places), scalars)
        return made

    def _call(self, name: str, groups: Sequence[Sequence[Tensor | None]], scalars: Sequence[float]) -> None:
        """Raises RuntimeError with the code that the function returned, where it is not 0."""
        flat = [tensor for group in groups for tensor in group]
        numbers = tuple(self.numbers(scalars))
        key = (name, numbers, *[tensor if tensor is None else (tensor.shape, tensor.dtype, tensor.device) for tensor in flat])
        made = self._calls.made
        found = made.get(key)
        if found is None:
            if name == "popcorn_forward":
                self._check(groups[0])  # type: ignore[arg-type]
            if len(made) > 256:
                made.clear()
            found = made[key] = _prepare(getattr(self.library, name), groups, numbers)
        for slot, tensor in zip(found.slots, flat, strict=False):
            if tensor is not None:
                slot.data = address = tensor.data_ptr()
                if not address and tensor.numel():
                    raise Mismatch(
                        f"a {type(tensor).__name__} has no memory for {self.path.name} to read; the op's own call goes to the reference"
                    )
        first = flat[0]
        code = found.function(*found.arguments, _stream(first.device) if first is not None and first.is_cuda else None)
        if code != 0:
            raise RuntimeError(f"{self.path.name}: {name} returned {code}, which is {_REFUSALS.get(code, 'not known here')}")


def _stream(device: torch.device) -> int:
    """The current stream of a GPU."""
    return int(torch.cuda.current_stream(device).cuda_stream)


def _prepare(function: Any, groups: Sequence[Sequence[Tensor | None]], numbers: Sequence[float]) -> _Prepared:
    """For every group its array and length, then the scalars' and theirs, then room for the stream."""
    arguments: list[int] = []
    slots: list[_Tensor] = []
    kept: list[Any] = []
    for group in groups:
        array = (_Tensor * max(1, len(group)))()
        kept.append(array)
        slots += list(array)[: len(group)]
        for slot, tensor in zip(array, group, strict=False):
            if tensor is None:  # nobody needs it: no memory, no sizes
                continue
            row = ctypes.c_int64 * max(tensor.dim(), 1)
            shape, stride = row(*tensor.shape), row(*tensor.stride())
            slot.dtype, slot.ndim, slot.shape, slot.stride = DTYPE_CODES[tensor.dtype], tensor.dim(), shape, stride
            kept += [shape, stride]
        arguments += [ctypes.addressof(array), len(group)]
    scalars = (ctypes.c_double * len(numbers))(*numbers)
    kept.append(scalars)
    function.argtypes = [ctypes.c_void_p, ctypes.c_int] * (len(groups) + 1) + [ctypes.c_void_p]
    return _Prepared(function, (*arguments, ctypes.addressof(scalars), len(numbers)), slots, kept)


def read_source(path: Path) -> str:
    """The whole text that is compiled."""
    return "\n".join(part.read_text(encoding="utf-8") for part in (*INCLUDED, path))


def a_row(x: Tensor, many: int) -> list[OutputSpec]:
    """So many numbers for each row of x, in the element type that sums run in: what a forward pass may keep."""
    return [((*x.shape[:-1], many), torch.float64 if x.dtype == torch.float64 else torch.float32)]


@torch.autograd.function.once_differentiable
def _by_kernel(ctx: Any, *cotangents: Tensor) -> Any:
    return (None, None, *ctx.kernel.gradients(ctx.saved_tensors, cotangents, ctx.scalars, ctx.needs_input_grad[2:]))


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Kernel, scalars: tuple[float, ...], *tensors: Tensor) -> Any:
        outputs, saved = kernel.forward_keeping(tensors, scalars)
        ctx.kernel, ctx.scalars = kernel, scalars
        ctx.save_for_backward(*saved)
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        kernel = ctx.kernel
        if torch.is_grad_enabled() and not kernel.from_outputs:  # whoever asks with create_graph may differentiate again
            tensors = ctx.saved_tensors[: len(kernel.op.signature.inputs)]
            return (None, None, *gradients_of_reference(kernel.op, tensors, ctx.scalars, cotangents, ctx.needs_input_grad[2:]))
        return _by_kernel(ctx, *cotangents)


_apply_plainly = super(torch.autograd.Function, _Differentiable).apply
"""Without what Function.apply does for torch.func first."""
_transformed = torch._C._are_functorch_transforms_active


def native(
    path: Path,
    outputs: Outputs,
    differentiable: bool = True,
    precisions: Sequence[str] = PRECISIONS,
    kept: Outputs | None = None,
    from_outputs: bool = False,
    skips: bool = False,
) -> tuple[Callable[..., Any], Accepts, str, Callable[..., Any]]:
    """(call, accepts, source, operator for torch.compile) of an op in C++ with the C interface: `call(tensors, scalars)` gives the output or a tuple of outputs."""
    op = find_op(path.parent.name)
    kernel = Kernel(path, op, outputs, differentiable, kept, from_outputs, skips)

    def call(tensors: tuple[Tensor, ...], scalars: tuple[float, ...] = ()) -> Any:
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if not differentiable:
                raise NotImplementedError(f"{path.parent.name} has no backward here; ask for another implementation")
            return (_Differentiable.apply if _transformed() else _apply_plainly)(kernel, scalars, *tensors)
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
        for name, kind in asked.odd.items():
            wanted = next(spec.whole for spec in op.signature.inputs if spec.name == name)
            return Rejected(f"takes {name} as {wanted or 'a floating tensor'}; the call has {kind}")
        try:
            _ = kernel.library
        except PopcornError as error:
            return Rejected(str(error))
        return ACCEPTED

    return call, accepts, kernel.source, traced(op.name, op.signature, kernel)
