"""From an op, an implementation and a case to the request that the worker carries out. Imports without torch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popcorn.ops.calls import Call
from popcorn.ops.judged import problem_of
from popcorn.schema.case import Case
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
