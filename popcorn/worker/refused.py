"""Refused: the end of an evaluation by something that the candidate did, or that its problem is."""

from collections.abc import Callable
from typing import Any, Literal

from popcorn.schema.verdict import Outcome, Verdict, Violation


class Refused(Exception):
    """The evaluation ends here with this outcome. Everything a candidate can do wrong arrives as one of these."""

    def __init__(
        self, outcome: Outcome, reason: str, stage: Any, defence: str | None = None, rule: Literal["static", "track"] | None = None
    ):
        self.outcome: Outcome = outcome
        self.evidence = reason
        self.reason = f"{defence}: {reason}" if outcome == "cheated" else reason
        self.stage = stage
        self.defence = defence
        self.rule = rule
        super().__init__(self.reason)

    def told_as(self, telling: Callable[[str], str]) -> "Refused":
        """The same with its evidence in other words."""
        return Refused(self.outcome, telling(self.evidence), self.stage, self.defence, self.rule)

    def verdict(self) -> Verdict:
        """As it is recorded when nothing else is known."""
        return Verdict(outcome=self.outcome, reason=self.reason, stage=self.stage, rule=self.rule, violations=self.violations())

    def violations(self) -> tuple[Violation, ...]:
        """The defence that found something, and its evidence; none where a candidate simply failed."""
        return (Violation(defence=self.defence, evidence=self.evidence[:2000]),) if self.defence else ()
