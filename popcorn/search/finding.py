"""Finding: what a search ends with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popcorn.search.behaviour import reachable
from popcorn.search.fitness import pooled, speedup_of
from popcorn.search.program import Program

if TYPE_CHECKING:
    from popcorn.search.progress import Progress


@dataclass(frozen=True)
class Finding:
    """The best, and what it took."""

    progress: "Progress"
    best: Program | None
    """After its measuring on fresh seeds."""
    speedup: float | None
    ended: str | None
    evaluations: int
    coverage: float
    """Filled share of the reachable cells."""
    cost_usd: float | None
    """None where some proposal has no known price."""
    device_s: float
    regressed: float | None
    """Log of (speedup before ÷ on fresh seeds) of the best: how much of it was luck."""
    replayed: int
    """Effects read back from the ledger."""

    @classmethod
    def of(cls, state: "Progress", replayed: int) -> "Finding":
        """As things stand."""
        best = next(iter(state.winners(1)), None)
        before, after = state.luck.get(best.id, ((), ())) if best else ((), ())
        first, second = pooled(before), pooled(after)
        return cls(
            progress=state,
            best=best,
            speedup=speedup_of(best) if best else None,
            ended=state.ended,
            evaluations=state.finished,
            coverage=len(state.population.cells() & reachable(state.plan.language)) / len(reachable(state.plan.language)),
            cost_usd=None if state.unpriced else state.cost_usd,
            device_s=state.device_s,
            regressed=first[0] - second[0] if first and second else None,
            replayed=replayed,
        )
