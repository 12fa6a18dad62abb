"""A proposer behind HTTP: any service that answers one POST with one text. So a search of somebody else can propose while ours judges.

POST URL   {"problem": …, "language": …, "step": …, "parent": {"source", "outcome", "speedup", "told"} | null,
            "inspirations": [{"source", "speedup"}], "target": [m, c, p] | null}
answer     {"source": "…", "operator": "…", "model": "…", "cost_usd": 0.01}        all but `source` optional
"""

import json
import math
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from popcorn.search.fitness import speedup_of
from popcorn.search.program import Proposal
from popcorn.search.strategies import Context

MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class Endpoint:
    """One URL."""

    url: str
    problem: str
    language: str
    key: str | None = None
    """Sent as a bearer token; never stored."""
    timeout_s: float = 600.0

    @property
    def name(self) -> str:
        """For the ledger."""
        return f"endpoint {self.url}"

    def propose(self, context: Context) -> Proposal:
        """One request; whatever goes wrong is a proposal without a text."""
        parents = (context.parent.id,) if context.parent else ()
        try:
            answer = self._ask(self._body(context))
            source = answer["source"]
            if not isinstance(source, str):
                raise ValueError("`source` is not a text")
            cost = answer.get("cost_usd")
            price = float(cost) if isinstance(cost, (int, float)) and math.isfinite(cost) and cost >= 0 else None
            return Proposal(
                source=source, parents=parents, operator=str(answer.get("operator", "endpoint"))[:60],
                model=str(answer["model"])[:80] if answer.get("model") else None, cost_usd=price,
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError) as error:
            return Proposal(source="", parents=parents, operator="endpoint", reason=f"{self.url}: {type(error).__name__}: {error}"[:300])

    def _body(self, context: Context) -> dict[str, Any]:
        parent = context.parent
        last = parent.measures[-1] if parent and parent.measures else None
        return {
            "problem": self.problem, "language": self.language, "step": context.step,
            "parent": None if parent is None else {
                "source": parent.source, "outcome": parent.outcome, "speedup": speedup_of(parent), "told": (last.told or last.reason) if last else None,
            },
            "inspirations": [{"source": one.source, "speedup": speedup_of(one)} for one in context.inspirations],
            "target": list(context.target) if context.target else None,
        }  # fmt: skip

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
            found = json.loads(answer.read(MOST_BYTES))
        if not isinstance(found, dict):
            raise ValueError("the answer is no JSON object")
        return found
