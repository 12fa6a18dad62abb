"""The way of a call: arguments to a key, the key to a chosen implementation, remembered. Needs torch.

A call that was seen before costs a key and a look-up. What the key leaves out (values, strides beyond contiguous or not, alignment) no
chooser may weigh. Where a call is looked at or changed from outside (`watched`), and on tensors that are more than memory, the op is its
reference: torch.compile fuses it with what stands around it, torch.func and forward gradients go through it, a trace holds it. An
implementation asked for by name stays itself there, as a custom operator.
"""

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from popcorn.ops.calls import Call
from popcorn.ops.registry import Op
from popcorn.ops.watching import watched
from popcorn.schema.case import Layout

_MOST_PLANS = 4096
PRECISIONS = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_TENSORS = frozenset((torch.Tensor, torch.nn.Parameter))

_grad_enabled = torch.is_grad_enabled
_any_autocast = torch._C._is_any_autocast_enabled


def carry_out(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], bench: bool) -> Any:
    """The result of the op by the chosen implementation."""
    if watched():
        return op.reference(*args, **kwargs)
    key: list[Any] = [_grad_enabled(), _any_autocast()]
    for value in args if not kwargs else (*args, *kwargs, *kwargs.values()):
        if type(value) in _TENSORS:
            try:
                key += (value.shape, value.dtype, value.device, value.requires_grad, value.is_contiguous())
            except RuntimeError:  # sparse and nested tensors have no strides
                return op.reference(*args, **kwargs)
        elif hasattr(type(value), "__torch_function__"):  # a subclass (fake, distributed, a proxy) makes of a call what it will
            return op.reference(*args, **kwargs)
        else:
            key.append(value)
    seen = tuple(key)
    try:
        run = op._plans.get(seen)
    except TypeError:  # what cannot be hashed is neither a tensor nor a scalar
        describe(op, args, kwargs)
        raise
    if run is None or bench:
        run = _plan(op, seen, args, kwargs, bench)
    return run(*args, **kwargs)


def _plan(op: Op, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], bench: bool) -> Any:
    call = describe(op, args, kwargs)
    if bench or os.environ.get("POPCORN_BENCH") == "1":
        importlib.import_module("popcorn.bench").measure_missing(op, call)
    run = op._choose(call).run
    if len(op._plans) >= _MOST_PLANS:
        op._plans.clear()
    op._plans[key] = run  # type: ignore[assignment]
    return run


def describe(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """A call without its data. Raises Mismatch where the arguments do not fit the signature."""
    bound = op.signature.bind(args, kwargs)
    floating = {tensor.dtype for tensor in bound.tensors if tensor.is_floating_point()}
    found = PRECISIONS.get(next(iter(floating)), "other") if len(floating) == 1 else "mixed" if floating else "other"
    odd = {
        spec.name: kind
        for spec, t in zip(op.signature.inputs, bound.tensors, strict=True)
        if (kind := str(t.dtype).removeprefix("torch.")) != spec.whole and (spec.whole or not t.is_floating_point())
    }
    device = bound.tensors[0].device
    if found == "float32" and device.type == "cuda" and torch.backends.cuda.matmul.allow_tf32:
        found = "tf32"
    return Call(
        dims=bound.dims,
        precision=found,
        device=device.type if all(tensor.device == device for tensor in bound.tensors) else "mixed",
        scalars=bound.scalars,
        layout=next((layout for tensor in bound.tensors if (layout := layout_of(tensor)) != "contiguous"), "contiguous"),
        gradient=torch.is_grad_enabled() and any(tensor.requires_grad for tensor in bound.tensors),
        autocast=torch._C._is_any_autocast_enabled(),
        capability=torch.cuda.get_device_capability(device) if device.type == "cuda" else None,
        odd=odd,
    )


def layout_of(tensor: torch.Tensor) -> Layout:
    """How a tensor lies in memory, as records name it: everything that is neither a transpose nor has a stride of 0 counts as sliced."""
    if tensor.is_contiguous():
        return "contiguous"
    if 0 in tensor.stride():
        return "expanded"
    return "transposed" if tensor.dim() > 1 and tensor.transpose(-1, -2).is_contiguous() else "sliced"
