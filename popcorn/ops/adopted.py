"""A kernel that was found by an agent or a search, as an implementation of an op: what its file calls. Needs torch.

It is called as it was judged: leading sizes as one, contiguous tensors, scalars in the signature's order. What it was not shown to
handle it refuses (`Takes`). A native text keeps the contract of popcorn_kernel.h; a Python text defines `ModelNew` without weights.
"""

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from popcorn.errors import PopcornError
from popcorn.home import cache_folder
from popcorn.ops.calls import ACCEPTED, Accepts, Answer, Call, Rejected
from popcorn.ops.native import Kernel, _Differentiable
from popcorn.ops.registry import Op, find_op
from popcorn.ops.signature import Signature, TensorSpec
from popcorn.ops.traced import traced
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.native import build_native

ALIGNED_BYTES = 16
"""The widest load of a thread on a GPU; every allocation begins at a multiple, and so did every tensor that was judged."""


@dataclass(frozen=True)
class Takes:
    """Calls that a kernel was judged right for; all others it refuses."""

    device: str
    precisions: tuple[str, ...]
    gradient: bool = False
    """Whether it was right with gradients."""
    gradients: tuple[str, ...] = ()
    """With which element types; with all that it takes where none is named."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Size → what it must be a multiple of."""
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Size → smallest and largest judged right, where larger or smaller ones failed."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    """Scalar → the only value that it was right with."""

    def answer(self, call: Call) -> Answer:
        """Accepted, or the first condition that the call breaks."""
        if call.device != self.device:
            return Rejected(f"runs on {self.device} only; the call is on {call.device}")
        if call.autocast or call.precision not in self.precisions:
            return Rejected(f"was judged right in {', '.join(self.precisions)} without autocast; the call is in {call.precision}")
        if call.gradient and not self.gradient:
            return Rejected("was not shown to be right with gradients")
        if call.gradient and self.gradients and call.precision not in self.gradients:
            return Rejected(f"was shown to be right with gradients in {' and '.join(self.gradients)} alone")
        if math.prod(call.dims.values()) == 0:
            return Rejected("takes no empty tensors")
        for name, step in self.multiples.items():
            if call.dims.get(name, 0) % step:
                return Rejected(f"takes {name} in multiples of {step}; the call has {call.dims[name]:,}")
        for name, (low, high) in self.bounds.items():
            if name in call.dims and not low <= call.dims[name] <= high:
                return Rejected(f"was judged right for {name} from {low:,} to {high:,}; the call has {call.dims[name]:,}")
        for name, value in self.scalars.items():
            if call.scalars.get(name, value) != value:
                return Rejected(f"was judged right for {name} = {value:g} alone; the call has {call.scalars[name]:g}")
        return ACCEPTED


class AdoptedKernel(Kernel):
    """A native text of any of the three languages, on any device."""

    def __init__(self, path: Path, language: str, op: Op, differentiable: bool):
        self.language = language
        super().__init__(path, op, self._outputs_of, differentiable)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.source = self.path.read_text(encoding="utf-8")

    def _check(self, tensors: Sequence[Tensor]) -> None:
        """Which types it takes was found by judging it (`Takes`), and sizes were read for the outputs."""

    def build(self) -> Any:
        """The library's build, for this device."""
        arch = ".".join(map(str, torch.cuda.get_device_capability())) if self.language == "cuda" else None
        return build_native(self.source, self.language, BuildCache(cache_folder() / "builds"), arch)

    def numbers(self, scalars: Sequence[float]) -> Sequence[float]:
        """Scalars as judged: the signature's alone."""
        return scalars

    def _outputs_of(self, *given: Any) -> list[tuple[tuple[int, ...], torch.dtype]]:
        tensors = given[: len(self.op.signature.inputs)]
        dims = self.op.signature.read_dims(tensors)
        dtype = next((one.dtype for one in tensors if one.is_floating_point()), torch.float32)
        return [(spec.shape(dims), dtype) for spec in self.op.signature.outputs]


def adopted(op: str, path: Path, language: str, takes: Takes) -> tuple[Callable[..., Any], Accepts, str, Callable[..., Any] | None]:
    """(run, accepts, source, operator for torch.compile) of a kernel's file."""
    found = find_op(op)
    signature = found.signature
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return _python(path, signature), takes.answer, source, None
    kernel = AdoptedKernel(path, language, found, takes.gradient)

    def run(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(args, kwargs)
        scalars = tuple(float(value) for value in bound.scalars.values())
        flat = [_flat(tensor, spec) for tensor, spec in zip(bound.tensors, signature.inputs, strict=True)]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in bound.tensors):
            if not takes.gradient:
                raise NotImplementedError(f"{path.stem} was not shown to be right with gradients")
            made = _Differentiable.apply(kernel, scalars, *flat)
            outputs = made if isinstance(made, tuple) else (made,)
        else:
            outputs = kernel.forward(flat, scalars)
        return _unflat(outputs, bound.tensors, signature)

    def accepts(call: Call) -> Answer:
        answer = takes.answer(call)
        if isinstance(answer, Rejected):
            return answer
        try:
            _ = kernel.library
        except PopcornError as error:
            return Rejected(str(error))
        return ACCEPTED

    free = any("..." in spec.sizes for spec in signature.inputs)
    return run, accepts, source, None if free and len(signature.outputs) > 1 else _operator(f"{op}_{path.stem}", signature, kernel, run)


def _operator(name: str, signature: Signature, kernel: AdoptedKernel, run: Callable[..., Any]) -> Callable[..., Any] | None:
    """For torch.compile. Names of operators are the process's: a second load of the same file finds the first one's."""
    if hasattr(torch.ops.popcorn, name):
        return run
    plain = traced(name, signature, kernel)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(args, kwargs)
        flat = [_flat(tensor, spec) for tensor, spec in zip(bound.tensors, signature.inputs, strict=True)]
        made = plain(*flat, **bound.scalars)
        return _unflat(made if isinstance(made, tuple) else (made,), bound.tensors, signature)

    return call


def _python(path: Path, signature: Signature) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(f"popcorn_adopted_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    models: dict[tuple[Any, ...], Any] = {}

    def run(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(args, kwargs)
        key = tuple(bound.scalars.values())
        if key not in models:
            models[key] = module.ModelNew(*key)
        flat = [_flat(tensor, one) for tensor, one in zip(bound.tensors, signature.inputs, strict=True)]
        made = models[key](*flat)
        return _unflat(made if isinstance(made, tuple) else (made,), bound.tensors, signature)

    return run


def _flat(tensor: Tensor, spec: TensorSpec) -> Tensor:
    """Leading sizes as one, contiguous and aligned: as it was judged. A view into a larger tensor may begin anywhere, and wide loads may not."""
    led = tensor.reshape(-1, *tensor.shape[tensor.dim() - len(spec.sizes) + 1 :]) if "..." in spec.sizes else tensor
    flat = led.contiguous()
    # what torch.compile traces lies nowhere yet
    return flat.clone() if not torch.compiler.is_compiling() and flat.data_ptr() % ALIGNED_BYTES else flat


def _unflat(outputs: Sequence[Tensor], tensors: Sequence[Tensor], signature: Signature) -> Any:
    lead = next(
        (t.shape[: t.dim() - len(spec.sizes) + 1] for t, spec in zip(tensors, signature.inputs, strict=True) if "..." in spec.sizes), None
    )
    shaped = [
        one.reshape(*lead, *one.shape[1:]) if lead is not None and "..." in spec.sizes else one
        for one, spec in zip(outputs, signature.outputs, strict=True)
    ]
    return shaped[0] if len(shaped) == 1 else tuple(shaped)
