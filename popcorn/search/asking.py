"""What the loop asks of others: a proposer, a judge, a screen. Each is one small protocol, so that a model, a script and a fake look the same."""

from collections.abc import Callable, Sequence
from typing import Protocol

from popcorn.search.program import Judged, Proposal
from popcorn.search.strategies import Context


class Proposer(Protocol):
    """Makes texts. Its answer is kept before anything is done with it, so it may cost money and need not be deterministic."""

    @property
    def name(self) -> str:
        """For the ledger and the pages; a search goes on with the proposer that began it."""

    def propose(self, context: Context) -> Proposal:
        """A text, or a proposal without one and its reason. Random choices come from `context.rng` alone. Raises PopcornError only for
        what the user must mend (a key that is missing); whatever a model says is a proposal."""


class Judge(Protocol):
    """Judges texts. Called from several threads at once."""

    def judge(self, source: str) -> Judged:
        """One evaluation, with seeds of its own."""


Screen = Callable[[Proposal, "Sequence[str]"], str | None]
"""(proposal, normalised texts seen before) → why it is not worth a judge, or None. Deterministic and cheap."""
