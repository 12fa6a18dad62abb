"""Truth, Question and Tried: one set of inputs, how to make it again, and what the oracle knows about it. Needs torch."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from popcorn.schema.comparison import Errors


@dataclass
class Truth:
    """What is known about one set of inputs."""

    truth: list[tuple[str, Any]]
    reference: list[tuple[str, Any]]
    known: bool = True
    """False where `reference` has its form alone, and no errors of its own."""
    sensitivity: dict[str, Errors] = field(default_factory=dict)
    flips: dict[str, torch.Tensor] = field(default_factory=dict)
    """Per exact output, the elements that change when the inputs are nudged further than rounding would, either way."""
    condition: Callable[[], None] | None = None
    """Finds out these two; only who does not pass without them pays for it."""


@dataclass
class Question:
    """The seeds and settings of one set of inputs: enough to make it again."""

    dims: dict[str, int]
    seed: int
    init_seed: int
    forward_seed: int
    distribution: str
    layout: str


@dataclass
class Tried:
    """One trial: everything that the reference alone decides."""

    question: Question
    inputs: list[Any]
    init_args: Any
    model: Any
    cotangents: list[torch.Tensor]
    differentiable: list[bool]
    reference: list[tuple[str, Any]]
    views: list[str]
    """Where the reference returns a view of an input."""
    reference_s: float
    unfit: str | None = None
    """Why it cannot decide anything."""
    truth: Truth | None = None
