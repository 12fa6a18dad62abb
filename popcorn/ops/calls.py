"""What an implementation is asked before it runs: a Call, answered by Accepted or Rejected. Imports without torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    """`cpu` or `cuda`."""
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

    def case(self) -> Case:
        """The case that a record of this call would have. Raises ValueError for element types that no record holds."""
        return Case(
            dims=dict(self.dims), precision=self.precision, scalars=dict(self.scalars), layout=self.layout,  # type: ignore[arg-type]
            gradient="grad" if self.gradient else "none",
        )  # fmt: skip


Accepts = Callable[[Call], Answer]


def needs(device: str | None = None, precisions: tuple[str, ...] = (), **bounds: tuple[int, int]) -> Accepts:
    """An `accepts` for the usual conditions: the device's kind, element types, sizes within (low, high)."""

    def accepts(call: Call) -> Answer:
        if device and call.device != device:
            return Rejected(f"runs on {device} only; the call is on {call.device}")
        if call.autocast or 0 in call.dims.values():
            return Rejected("is not measured under autocast or on empty tensors")
        if precisions and call.precision not in precisions:
            return Rejected(f"takes {', '.join(precisions)}; the call is in {call.precision}")
        for name, (low, high) in bounds.items():
            if not low <= call.dims.get(name, low) <= high:
                return Rejected(f"takes {name} from {low:,} to {high:,}; the call has {call.dims[name]:,}")
        return ACCEPTED

    return accepts


def missing(package: str, extra: str | None, error: ImportError) -> Rejected:
    """An optional package that is not here, with the command that brings it; one that is here and does not import, with its own words."""
    command = f"pip install 'popcornbench[{extra}]'" if extra else f"pip install {package}"
    if isinstance(error, ModuleNotFoundError):
        return Rejected(f"needs {package}: {command}")
    return Rejected(f"{package} does not import here ({' '.join(str(error).split())[:200]}); try {command}")
