"""Three verifiers read a text before hardware does: will it compile, is it numerically right, is it memory-safe. Advice, with its own record.

Each votes, sees its first vote once more with its reasons, and may change it; two of three that say no reject. At first everything is
judged all the same, so precision and recall of the rejections are measured against this run's own truth; afterwards a fixed share of
the rejected is judged still. Where rejections are not reliable, or cost more time than they save, the verifiers are switched off.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from popcorn.search.ledger import Ledger
from popcorn.search.program import Program
from popcorn.search.speaking import Speaker

QUESTIONS = {
    "compiles": "Will this kernel compile and link as it stands? Look for undeclared names, wrong types, missing includes, a wrong signature.",
    "numerics": "Is its result right, within rounding, for every size in the range? Look for wrong indices, tails, reductions, precision.",
    "memory": "Is it free of out-of-bounds accesses, races, missing barriers, uninitialised reads and writes to its inputs?",
}
WARMUP = 8
"""Rejections whose truth is wanted before any of them counts."""
AUDIT = 5
"""Afterwards every so-manieth rejection is judged all the same."""
PRECISION = 0.8
"""Rejections must be right this often."""
RECALL = 0.2
"""And find this share of the failures."""
_ANSWER = re.compile(r"FINAL VERIFICATION ANSWER:\s*(true|false)", re.IGNORECASE)
_SYSTEM = "You review GPU and CPU kernels before they are run. Judge only what you are asked. End with one line: FINAL VERIFICATION ANSWER: True or False."
_REFLECT = "Your review was:\n\n{first}\n\nRead the kernel again with fresh eyes. Is each objection really there? End with the same line.\n\n{question}"


@dataclass
class Verifiers:
    """A speaker that reviews, and how reliable it was here."""

    speaker: Speaker
    reference: str
    """The problem as shown to models."""
    clock: Callable[[], float] = monotonic
    votes: dict[int, bool] = field(default_factory=dict)
    """Step → whether it was rejected."""
    truth: dict[int, bool] = field(default_factory=dict)
    """Step → whether it failed, where a judge saw it."""
    cost_usd: float = 0.0
    spent_s: float = 0.0
    judged_s: float = 0.0
    off: str | None = None
    """Why they were switched off."""

    def look(self, step: int, source: str, ledger: Ledger) -> str | None:
        """Why no judge should see this text; None to judge it. A rejection before there is a record, or in an audit, is only remembered."""
        if self.off is not None:
            return None
        answer = ledger.once(f"verify/{step}", source, lambda: self._vote(source))
        self.cost_usd += answer["cost_usd"] or 0.0
        self.spent_s += answer["seconds"]
        against = [name for name, good in answer["votes"].items() if good is False]
        rejected = self.votes[step] = len(against) >= 2
        if not rejected:
            return None
        known = sum(1 for one in self.truth if self.votes.get(one))
        count = sum(self.votes.values())
        if known < WARMUP or count % AUDIT == 0:
            return None
        return f"the verifiers reject it ({', '.join(against)})"

    def learn(self, step: int, program: Program) -> None:
        """What a judge found. Switches off where it does not pay."""
        if step not in self.votes or program.outcome in ("harness_error", "invalid_reference"):
            return
        self.truth[step] = program.outcome != "correct"
        self.judged_s += sum(one.device_s for one in program.measures[:1])
        precision, recall = self.precision, self.recall
        if sum(1 for one in self.truth if self.votes[one]) >= WARMUP and precision is not None and precision < PRECISION:
            self.off = f"{precision:.0%} of its rejections were right; {PRECISION:.0%} are wanted"
        elif len(self.truth) >= 3 * WARMUP and recall is not None and recall < RECALL:
            self.off = f"it found {recall:.0%} of the failures; {RECALL:.0%} are wanted"
        elif len(self.truth) >= 3 * WARMUP and self.spent_s / len(self.votes) > self.judged_s / len(self.truth) * sum(
            self.votes.values()
        ) / len(self.votes):
            self.off = "it takes longer to ask than it saves on the device"

    @property
    def precision(self) -> float | None:
        """Share of its rejections that failed; None before there is any."""
        found = [failed for step, failed in self.truth.items() if self.votes[step]]
        return sum(found) / len(found) if found else None

    @property
    def recall(self) -> float | None:
        """Share of the failures that it rejected."""
        found = [self.votes[step] for step, failed in self.truth.items() if failed]
        return sum(found) / len(found) if found else None

    def _vote(self, source: str) -> dict[str, Any]:
        began = self.clock()
        votes, cost = {}, 0.0
        for name, asked in QUESTIONS.items():
            question = f"{asked}\n\nThe reference:\n```python\n{self.reference}\n```\n\nThe kernel:\n```\n{source}\n```"
            first = self.speaker.ask(_SYSTEM, question)
            second = (
                self.speaker.ask(_SYSTEM, _REFLECT.format(first=first.text[-4000:], question=question))
                if read(first.text) is False
                else first
            )
            votes[name] = read(second.text)
            cost += (first.cost_usd or 0.0) + ((second.cost_usd or 0.0) if second is not first else 0.0)
        return {"votes": votes, "cost_usd": cost, "seconds": self.clock() - began}


def read(text: str) -> bool | None:
    """The last answer in a text; None where there is none, which counts for the kernel."""
    found = _ANSWER.findall(text)
    return found[-1].lower() == "true" if found else None
