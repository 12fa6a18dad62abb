"""What an implementation is asked before it runs: a Call, answered by Accepted or Rejected. Imports without torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from popcorn.ops.signature import BadOp
from popcorn.schema.case import Case, Layout


@dataclass(frozen=True)
class Accepted:
    """The implementation takes this call."""

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Rejected:
    """It does not, and says why: what it needs, and the command that brings it where there is one."""

    reason: str

    def __bool__(self) -> bool:
        return False


Answer = Accepted | Rejected
ACCEPTED = Accepted()


@dataclass(frozen=True)
class Call:
    """A call as implementations and choosers see it: no data, only what shapes the choice."""

    dims: Mapping[str, int]
    """Sizes by name; R stands for all leading ones."""
    precision: str
    """float64, float32, tf32, float16, bfloat16; `mixed` when floating tensors differ, `other` for an element type outside these."""
    device: str
    """`cpu` or `cuda`; `mixed` when tensors lie on several."""
    scalars: Mapping[str, Any] = field(default_factory=dict)
    """Scalar arguments, defaults filled in."""
    layout: Layout = "contiguous"
    """Of the first tensor that is not contiguous."""
    gradient: bool = False
    """Whether a backward pass may follow."""
    autocast: bool = False
    """Under torch.autocast."""
    capability: tuple[int, int] | None = None
    """Compute capability of the GPU."""
    odd: Mapping[str, str] = field(default_factory=dict)
    """Element types of arguments that are not of the declared kind, by name: `{"target": "int32"}` where an index is int64."""

    def case(self) -> Case:
        """The case that a record of this call would have. Raises ValueError for element types that no record holds."""
        return Case(
            dims=dict(self.dims), precision=self.precision, scalars=dict(self.scalars), layout=self.layout,  # type: ignore[arg-type]
            gradient="grad" if self.gradient else "none",
        )  # fmt: skip


Accepts = Callable[[Call], Answer]


def needs(
    device: str | None = None,
    precisions: tuple[str, ...] = (),
    capability: tuple[tuple[int, int], tuple[int, int]] | None = None,
    multiples: Mapping[str, int] | None = None,
    backward: bool = True,
    **bounds: tuple[int, int],
) -> Accepts:
    """An `accepts` for the usual conditions: the device's kind, element types, sizes within (low, high).

    capability: the lowest and the highest compute capability. multiples: size → what it must be a multiple of. backward: whether there is one.
    Raises BadOp for a bound that is none.
    """
    bad = next((name for name, bound in bounds.items() if not (isinstance(bound, tuple) and len(bound) == 2)), None)
    if bad is not None:
        raise BadOp(
            f"needs({bad}=…) is no condition; expected device, precisions, capability, multiples, backward, or a size's bounds: D=(1, 8192)"
        )

    def accepts(call: Call) -> Answer:
        if device and call.device != device:
            return Rejected(f"runs on {device} only; the call is on {call.device}")
        if call.autocast or 0 in call.dims.values():
            return Rejected("is not measured under autocast or on empty tensors")
        if precisions and call.precision not in precisions:
            return Rejected(f"takes {', '.join(precisions)}; the call is in {call.precision}")
        if capability and call.capability and not capability[0] <= call.capability <= capability[1]:
            first, last, here = (f"{major}.{minor}" for major, minor in (*capability, call.capability))
            return Rejected(f"is for compute capability {first if first == last else f'{first} to {last}'}; this GPU has {here}")
        if call.gradient and not backward:
            return Rejected("has no backward pass; the call may need one")
        for name, (low, high) in bounds.items():
            if not low <= call.dims.get(name, low) <= high:
                return Rejected(f"takes {name} from {low:,} to {high:,}; the call has {call.dims[name]:,}")
        for name, step in (multiples or {}).items():
            if call.dims.get(name, 0) % step:
                return Rejected(f"takes {name} in multiples of {step}; the call has {call.dims[name]:,}")
        return ACCEPTED

    accepts.sizes = (*bounds, *(multiples or {}))  # type: ignore[attr-defined]
    return accepts
