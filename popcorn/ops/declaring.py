"""A declaration held against the functions it is about, so that a slip is one sentence and no wrong figure. Imports without torch."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from popcorn.ops.signature import BadOp, Signature
from popcorn.units import show_bytes

if TYPE_CHECKING:
    from popcorn.ops.registry import Op


def check_reference(op: str, reference: Callable[..., Any], signature: Signature) -> None:
    """The reference takes what is declared, in its order, with its defaults. Raises BadOp."""
    _check_arguments(f"{op}: the reference", reference, signature)
    parameters = inspect.signature(reference).parameters
    for name, default in signature.scalars.items():
        own = parameters[name].default
        if own is not default and own != default:
            told = "no default" if own is inspect.Parameter.empty else repr(own)
            raise BadOp(f"{op}: the reference gives {name} {told} and the declaration {default!r}; write the same in both")


def check_implementation(
    op: str, name: Any, run: Callable[..., Any], signature: Signature, sizes: Sequence[str], taken: Sequence[str]
) -> None:
    """An implementation has a name of its own, takes what the reference takes, and bounds sizes that exist. Raises BadOp."""
    if name in taken:
        raise BadOp(f"{op}: every op has an implementation {name!r} already; choose another name")
    _check_arguments(f"{op}[{name!r}]", run, signature)
    unknown = [size for size in sizes if size not in signature.dims]
    if unknown:
        raise BadOp(f"{op}[{name!r}] bounds {unknown[0]}, which is no size; the sizes are {', '.join(signature.dims)}")


def check_formulas(op: str, formulas: Mapping[str, Callable[..., Any] | None], signature: Signature) -> None:
    """Formulas take every size by its name; `min_bytes` the size of an element, too. Raises BadOp."""
    for what, formula in formulas.items():
        wanted = [*signature.dims, *(["itemsize"] if what == "min_bytes" else [])]
        if formula is None:
            continue
        if not callable(formula):
            raise BadOp(
                f"{op}: {what} is a {type(formula).__name__}; expected a function of the sizes: {what}=lambda {', '.join(wanted)}: …"
            )
        try:
            inspect.signature(formula).bind(**dict.fromkeys(wanted, 1))
        except TypeError:
            raise BadOp(
                f"{op}: {what} takes ({', '.join(inspect.signature(formula).parameters)}); expected the sizes by name: {what}=lambda {', '.join(wanted)}: …"
            ) from None


def check_results(op: "Op", args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """What the reference returns for these arguments has the declared shapes, and `min_bytes` is not above all that there is to move.

    Carries the reference out once. Raises BadOp: a wrong shape or formula would be a wrong share of the bound in every record. Needs torch.
    """
    import torch

    bound = op.signature.bind(args, kwargs)
    with torch.no_grad():
        made = op.reference(*args, **kwargs)
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    other = next((type(one).__name__ for one in outputs if not isinstance(one, torch.Tensor)), None)
    if other is not None:
        raise BadOp(f"{op.name} returns a {other}; expected a tensor, or a tuple of them")
    sizes = {**{name: value for name, value in bound.scalars.items() if type(value) is int}, **bound.dims}
    specs = op.signature.outputs
    if len(outputs) != len(specs):
        raise BadOp(f"{op.name} returns {len(outputs)} tensors and declares {len(specs)}; write out=(…) with one text for each")
    for spec, one in zip(specs, outputs, strict=True):
        shape = tuple(one.shape)
        free = len(shape) - len(spec.sizes) + 1
        read = (math.prod(shape[:free]), *shape[free:]) if spec.sizes[:1] == ("...",) and free >= 0 else shape
        if read != spec.shape(sizes):
            told = " ".join(spec.sizes)
            raise BadOp(
                f"{op.name}: {spec.name} is declared as {told!r}, {spec.shape(sizes)} here, and the reference returns {shape}; mend out="
            )
        if one.is_floating_point() == (spec.below is not None):
            mend = f"{' '.join(spec.sizes)}" + ("" if spec.below else " < …")
            raise BadOp(f"{op.name}: {spec.name} is of {one.dtype}; `< SIZE` marks whole numbers and nothing else: write {mend!r}")
    itemsize = next((t.element_size() for t in bound.tensors if t.is_floating_point()), 4)
    declared, most = op.min_bytes(bound.dims, itemsize), op.signature.min_bytes({**sizes}, itemsize)
    if declared > most:
        raise BadOp(
            f"{op.name}: min_bytes says {show_bytes(declared)}, and all inputs and outputs are {show_bytes(most)} here;"
            " count what must be read and written once, or leave min_bytes out"
        )


def _check_arguments(what: str, function: Callable[..., Any], signature: Signature) -> None:
    names, wanted = list(inspect.signature(function).parameters), list(signature.names)
    if names != wanted:
        lacking = [name for name in names if name not in wanted]
        more = (
            f"; declare {lacking[0]}, too ({lacking[0]}='… D' for a tensor, its default for a scalar)"
            if lacking and set(wanted) < set(names)
            else ""
        )
        raise BadOp(f"{what} takes ({', '.join(names)}); declared is ({', '.join(wanted)}), and both must agree, in this order{more}")
