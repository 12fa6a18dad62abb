"""All defences by name, with what each says of itself. A name is a module of this package and the `defence` of a `Violation`. Free of torch."""

import contextlib
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from popcorn.verify.defences.finding import Finding

NAMES = (
    "exact_type", "structure", "truth", "repeat", "mutation", "aliasing", "timed_outputs", "clock", "speed_of_light", "flags", "idle", "cores",
    "peak_memory", "own_process", "sandbox", "hidden_seeds", "fresh_inputs", "fresh_weights", "hidden_sizes", "value_kinds", "resting", "turns",
    "parent_record", "limits", "typed_outcomes",
)  # fmt: skip

_off: set[str] = set()


@dataclass(frozen=True)
class Defence:
    """One defence, in its own words."""

    name: str
    by: Literal["check", "construction"]
    """A check can find something; what holds by construction cannot fail."""
    enforced_in: str
    """Modules, for whoever wants to read."""
    rule: str
    """The rule, one sentence."""
    catches: str
    misses: str


def defence(name: str) -> Defence:
    """A defence by name. Raises KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    module = importlib.import_module(f"popcorn.verify.defences.{name}")
    text = re.sub(r"\s+", " ", module.__doc__ or "")
    match = re.fullmatch(r"\s*(.*?) Catches: (.*?) Does not catch: (.*?)\s*", text)
    assert match is not None, f"{name} does not say what it catches"
    return Defence(name, module.BY, module.ENFORCED_IN, *match.groups())


def every_defence() -> tuple[Defence, ...]:
    """All of them, checks first."""
    return tuple(defence(name) for name in NAMES)


def look(name: str, *facts: Any, find: str = "find", **named: Any) -> Finding | None:
    """What a check finds in these facts; None where it finds nothing or is switched off."""
    if name in _off:
        return None
    return getattr(importlib.import_module(f"popcorn.verify.defences.{name}"), find)(*facts, **named)


@contextlib.contextmanager
def switched_off(name: str) -> Iterator[None]:
    """Without one check, to show what it is there for."""
    if name not in NAMES:
        raise KeyError(name)
    _off.add(name)
    try:
        yield
    finally:
        _off.discard(name)
