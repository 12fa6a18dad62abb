"""The nouns of a search: what was proposed, what a judge said of it, and both together as a program with its place."""

import hashlib
from dataclasses import dataclass, field

from popcorn.schema.case import Frozen

Cell = tuple[int, int, int]
"""Memory × compute × parallelism, 0 to 3 each."""


class Proposal(Frozen):
    """One text that a proposer made."""

    source: str
    """The whole kernel; empty where nothing could be made."""
    parents: tuple[str, ...] = ()
    """Programs that it was made from."""
    operator: str = "mutate"
    """How: seed, mutate, rewrite, edit, cross, repair, tune, translate, …"""
    model: str | None = None
    """Row of models.toml; None without a model."""
    prompt: str | None = None
    """Id of the prompt sections."""
    params: dict[str, int | float | str | bool] = {}
    """Declared parameters as set in the text."""
    reason: str | None = None
    """Why there is no text."""
    tokens: int | None = None
    """Input and output together."""
    cost_usd: float | None = None
    """Money; None where a price is unknown."""


class Judged(Frozen):
    """What an evaluation said: the part of a record that a search needs, and the record's id."""

    outcome: str
    """One of the closed set; `no_kernel` where there was nothing to judge."""
    reason: str | None = None
    """For people and for the next prompt."""
    speedup: float | None = None
    """Over the reference; None without a pass or without timing."""
    low: float | None = None
    """Lower end of its 95 % interval."""
    high: float | None = None
    """Upper end."""
    record_id: str | None = None
    """The record in the store."""
    device_s: float = 0.0
    """Seconds on the device lane."""
    told: str = ""
    """The measurement as short text: for the next prompt."""
    cell: tuple[int, int, int] | None = None
    """Behaviour read from counters, where there are some; else the text decides."""
    by_device: dict[str, "Judged"] = {}
    """One judgement a device, where several judge."""


@dataclass(frozen=True)
class Program:
    """A proposal that was judged."""

    id: str
    step: int
    proposal: Proposal
    cell: Cell
    island: int = 0
    generation: int = 0
    measures: tuple[Judged, ...] = field(default=())
    """Every judgement of this text, first one first; a later one re-measures it."""

    @property
    def source(self) -> str:
        """The text."""
        return self.proposal.source

    @property
    def outcome(self) -> str:
        """The worst of its judgements: one failure is enough."""
        return next((one.outcome for one in self.measures if one.outcome != "correct"), "correct") if self.measures else "no_kernel"


def program_id(step: int, source: str) -> str:
    """`12-1f0c33`: its place in the search, and the beginning of its text's hash."""
    return f"{step}-{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
