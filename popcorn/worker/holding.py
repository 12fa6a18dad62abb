"""What the oracle holds between two commands: results of timed calls as they were when they were handed over, and inputs that were drawn before
they are needed or may be needed again. Needs torch.

A result is copied at once, out of the buffer that its maker can write, while its maker is stopped: judging it can wait until nothing is timed.
"""

from typing import Any

import torch

from popcorn.worker.mailbox import Alien, Buffer, copy_of, leaves, unpack
from popcorn.worker.truth import Question

Leaves = list[tuple[str, Any]]


class Held:
    """Results in the order of their coming, inputs by their question."""

    def __init__(self) -> None:
        self.results: list[tuple[Question, Leaves | str]] = []
        """A sentence where what arrived is no result."""
        self.inputs: dict[str, list[Any]] = {}

    def hold(self, question: Question, tree: Any, outbox: Buffer) -> None:
        """A private copy of one packed result."""
        self.results.append((question, unpacked(tree, outbox, private=True)))

    def keep(self, question: Question, inputs: list[Any]) -> None:
        """Inputs for whoever asks this question next."""
        self.inputs[_key(question)] = inputs

    def knows(self, question: Question) -> bool:
        """Whether its inputs are here."""
        return _key(question) in self.inputs

    def take(self, question: Question) -> list[Any] | None:
        """Its inputs, once."""
        return self.inputs.pop(_key(question), None)


def _key(question: Question) -> str:
    return f"{question.seed} {question.distribution} {question.layout} {sorted(question.dims.items())}"


def unpacked(tree: Any, outbox: Buffer, private: bool) -> Leaves | str:
    """The leaves of a packed result, or what is wrong with it. `private` copies them, no more than the buffer could hold."""
    try:
        found = leaves(unpack(tree, outbox, private=False), "out")
        return _copied(found, outbox.size) if private else found
    except Exception as error:  # the description is the candidate's word: whatever is wrong with it is the candidate's
        return f"the output is not made of plain tensors: {error}"[:400]


def _copied(found: Leaves, room: int) -> Leaves:
    copies: Leaves = []
    for path, leaf in found:
        if isinstance(leaf, torch.Tensor):
            leaf = copy_of(leaf)
            room -= leaf.untyped_storage().nbytes()
            if room < 0:
                raise Alien("tensors that lie on each other")
        copies.append((path, leaf))
    return copies
