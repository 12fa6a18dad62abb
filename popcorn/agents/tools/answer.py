"""What a tool answers, and what a tool is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from popcorn.schema.case import Frozen
from popcorn.schema.measurement import Measurement

if TYPE_CHECKING:
    from popcorn.agents.workbench import Workbench

MAX_TEXT = 6_000
"""Characters of an answer: what a model can act on, not a log."""


class Answer(Frozen):
    """Short text for the model, the same as data for everybody else."""

    text: str
    """What the model reads."""
    ok: bool = True
    """False when the kernel failed the question, or the question could not be asked."""
    data: dict[str, Any] = Field(default_factory=dict)
    """The same, structured."""
    error: str | None = None
    """Kind of failure of the call itself (`limit`, `parsing`, `infrastructure`); None when the kernel was looked at."""
    record_id: str | None = None
    """The record behind it, where one was written."""
    outcome: str | None = None
    """The kernel's outcome, where it was judged, or why it could not be."""
    speedup: float | None = None
    """Over eager, where it was timed."""
    measurement: Measurement | None = None
    """What a profile measured, without raw samples: the next profile is compared with it."""
    queue_s: float = 0.0
    """Seconds in queues."""
    run_s: float = 0.0
    """Seconds at work."""


@dataclass(frozen=True)
class Tool:
    """One tool: what the model reads of it, and what it does."""

    name: str
    summary: str
    """For the model: what it does and what it costs."""
    run: Callable[["Workbench", str], Awaitable[Answer]]
    """Takes the kernel's text; empty for a tool without one."""
    takes_kernel: bool = True


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """Head and tail of a text, with what was left out said in between."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n… {len(text) - limit:,} characters left out …\n{text[-(limit - head) :]}"
