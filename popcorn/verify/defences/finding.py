"""Finding: what a defence returns when it has something to say. Free of torch."""

from dataclasses import dataclass

from popcorn.schema.verdict import Outcome


@dataclass(frozen=True)
class Finding:
    """A broken rule: the outcome that follows and what was seen."""

    outcome: Outcome
    evidence: str


def first(value: object) -> str | None:
    """One entry of something that a candidate's process sent, as a short text; None where it says nothing. Never raises."""
    if value is None or value is False or value == [] or value == {}:
        return None
    if isinstance(value, list):
        value = value[0]
    return str(value)[:200]
