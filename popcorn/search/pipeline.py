"""From torch to a fast kernel in two stages: translate until something is right, then optimise it. Forward alone or with gradients.

Translating goes by way of a functional form: first the module as functions with its weights as arguments, then that as a kernel, with each
failure's message as the next question. What came out right is the seed of the search; what never did leaves its furthest text as the seed,
so that the search begins by mending.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from popcorn.agents.extracting import find_kernel
from popcorn.search.asking import Judge
from popcorn.search.fitness import CORRECT, rank
from popcorn.search.ledger import Ledger
from popcorn.search.program import Judged
from popcorn.search.speaking import Said, Speaker

ATTEMPTS = 6
_FUNCTIONAL = "Rewrite this torch module as plain functions of its inputs and weights, one operation a line, no classes. Give one fenced Python block."
_KERNEL = "Write the kernel. Follow the contract exactly. Prefer something right over something fast. Give one fenced block with the whole kernel."
_SYSTEM = "You translate torch modules into kernels. What you write is compiled and judged against the module with fresh inputs and changing sizes."


@dataclass(frozen=True)
class Translation:
    """What translating gave."""

    source: str
    """The kernel that came furthest; empty where no answer held one."""
    judged: Judged
    attempts: int
    functional: str
    cost_usd: float | None
    """None where a price is unknown."""


def translate(
    task: str, reference: str, language: str, speaker: Speaker, judge: Judge, ledger: Ledger, attempts: int = ATTEMPTS
) -> Translation:
    """Ask, judge, tell what failed, ask again; ends with the first correct kernel. Every answer and judgement is in the ledger."""
    first = _ask(ledger, "translate/functional", speaker, f"{_FUNCTIONAL}\n\n```python\n{reference}\n```")
    functional = find_kernel(first.text, "torch") or first.text.strip()
    prices, best, judged, told = [first.cost_usd], "", Judged(outcome="no_kernel", reason="no answer held a kernel"), ""
    made = 0
    for made in range(1, attempts + 1):
        question = f"{task}\n\nAs functions:\n```python\n{functional[:20000]}\n```\n{told}\n{_KERNEL}"
        said = _ask(ledger, f"translate/{made}", speaker, question)
        prices.append(said.cost_usd)
        source = find_kernel(said.text, language)
        if source is None:
            told = f"\nYour last answer held no fenced kernel{': ' + said.error if said.error else ''}.\n"
            continue
        answer = Judged.model_validate(ledger.once(f"translated/{made}", source, partial(_judge, judge, source)))
        if rank(answer.outcome) >= rank(judged.outcome) or not best:
            best, judged = source, answer
        if rank(answer.outcome) == CORRECT:
            break
        told = f"\nYour last kernel:\n```\n{source}\n```\nIt failed ({answer.outcome}): {answer.reason or ''}\n{answer.told}\n"
    cost = None if any(one is None for one in prices) else sum(one or 0.0 for one in prices)
    return Translation(best, judged, made, functional, cost)


def _judge(judge: Judge, source: str) -> dict[str, Any]:
    return judge.judge(source).model_dump(mode="json")


def _ask(ledger: Ledger, key: str, speaker: Speaker, question: str) -> Said:
    return Said(**ledger.once(key, question, lambda: vars(speaker.ask(_SYSTEM, question))))
