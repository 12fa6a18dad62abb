"""From an op, an implementation and a case to the request that the worker carries out. Imports without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from popcorn.errors import PopcornError
from popcorn.ops.calls import Call
from popcorn.ops.judged import problem_of
from popcorn.schema.case import Case, Layout, Precision
from popcorn.worker.request import Request

if TYPE_CHECKING:
    from popcorn.ops.registry import Op


@dataclass(frozen=True)
class Settings:
    """How a case is measured."""

    device: str = "auto"
    budget_s: float = 1.0
    """Seconds of taking turns."""
    timeout_s: float = 60.0
    """Longest that one command may take: a hang costs this once."""
    trials: int = 5
    timing: bool = True
    control: bool = True
    """The A/A and planted controls; without them a record says so."""
    energy: bool = False


def request_for(op: "Op", implementation: str, case: Case, settings: Settings) -> Request:
    """The request of one row."""
    one = op.implementations[implementation]
    return Request(
        problem=problem_of(op, case, one.multiples),
        source=one.source,
        language=one.language,
        name=f"{op.name}[{implementation}]",
        precision=case.precision,
        gradient=case.gradient,
        layout=case.layout,
        scalars=case.scalars,
        implementation=implementation,
        op_file=op.file,
        device=settings.device,
        budget_s=settings.budget_s,
        timeout_s=settings.timeout_s,
        trials=settings.trials,
        timing=settings.timing,
        control=settings.control,
        energy=settings.energy,
        counters=False,
        compile_baseline=False,  # `inductor` is an implementation with rows of its own
    )


def call_of(case: Case, device: str) -> Call:
    """The call that a case stands for, to ask implementations whether they take it."""
    return Call(case.dims, case.precision, device, case.scalars, case.layout, case.gradient == "grad")


def case_of(op: "Op", sizes: Sequence[str], precision: str, layout: str) -> Case:
    """The case of `R=4096 D=1024 eps=1e-5`. Raises PopcornError where a size is missing or unknown."""
    given = dict(part.partition("=")[::2] for part in sizes)
    scalars = {name: read_scalar(given.pop(name), op.signature.scalars[name]) for name in list(given) if name in op.signature.scalars}
    if set(given) != set(op.signature.dims) or None in scalars.values() or not all(v.isdigit() and int(v) for v in given.values()):
        also = f", and, where another value is meant, the scalars {', '.join(op.signature.scalars)}" if op.signature.scalars else ""
        lacking = [name for name in op.signature.dims if name not in given]
        told = f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing: " if lacking else ""
        raise PopcornError(f"{told}{op.name} has the sizes {', '.join(op.signature.dims)}; give each as NAME=NUMBER{also}")
    if precision not in get_args(Precision) or layout not in get_args(Layout):
        raise PopcornError(f"--dtype is one of {', '.join(get_args(Precision))}, --layout one of {', '.join(get_args(Layout))}")
    dims = {name: int(given[name]) for name in op.signature.dims}
    return Case.model_validate({"dims": dims, "precision": precision, "layout": layout, "scalars": {**op.signature.scalars, **scalars}})


def read_scalar(text: str, default: Any) -> Any:
    """The text as the default's type, None where it is none of these."""
    if isinstance(default, bool):
        return {"true": True, "True": True, "false": False, "False": False}.get(text)
    try:
        return type(default)(text)
    except ValueError:
        return None
