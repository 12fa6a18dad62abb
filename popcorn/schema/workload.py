"""Workload: the calls of the library's ops that a piece of code makes, as `popcorn.capture()` saw them."""

from typing import Literal

from popcorn.schema.case import Case, Frozen

WORKLOAD_VERSION: Literal[1] = 1


class CapturedCall(Frozen):
    """One case of one op, and how often it was asked for."""

    op: str
    """Name of an op that ships with Popcorn."""
    case: Case
    """Sizes, element type, scalars, layout, gradient mode."""
    device: Literal["cpu", "cuda"]
    """Where it was called."""
    count: int
    """Calls."""


class LeftOut(Frozen):
    """Calls that no record can answer."""

    op: str
    """Name of the op."""
    reason: str
    """Why, as one clause."""
    count: int
    """Calls."""


class Workload(Frozen):
    """What was captured, the most frequent first."""

    workload_version: Literal[1] = WORKLOAD_VERSION
    """Version of this file."""
    calls: tuple[CapturedCall, ...] = ()
    """Calls that can be measured."""
    left_out: tuple[LeftOut, ...] = ()
    """Calls that cannot."""
