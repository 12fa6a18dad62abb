"""Budgets of a run: what may be spent, what was, what to say when little is left. Pure functions of numbers."""

from dataclasses import dataclass
from typing import Literal

from popcorn.agents.tiers import Tier

Ended = Literal["turns", "tool_calls", "tokens", "money", "wall"]
NEAR = 0.85
"""Share of a budget after which it is said to be near its end."""


@dataclass(frozen=True)
class Budget:
    """What a run may spend; None is no limit."""

    turns: int
    tool_calls: int
    tokens: int | None = None
    cost_usd: float | None = None
    wall_s: float | None = None

    @classmethod
    def of(cls, tier: Tier) -> "Budget":
        """A tier's own."""
        return cls(tier.max_turns, tier.max_tool_calls, tier.max_tokens, tier.max_cost_usd, tier.max_wall_s)


@dataclass
class Spent:
    """What a run has spent so far."""

    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    wall_s: float = 0.0


def over(budget: Budget, spent: Spent) -> Ended | None:
    """Which budget is used up, if any. Turns and calls are counted by the loop itself, never by a library's limit."""
    if spent.turns >= budget.turns:
        return "turns"
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return "tokens"
    if budget.cost_usd is not None and spent.cost_usd >= budget.cost_usd:
        return "money"
    if budget.wall_s is not None and spent.wall_s >= budget.wall_s:
        return "wall"
    # a run without tools has no calls to run out of
    if budget.tool_calls and spent.tool_calls >= budget.tool_calls:
        return "tool_calls"
    return None


def last_turn(budget: Budget, spent: Spent) -> bool:
    """True when the turn about to begin is the last, by turns or by calls."""
    return budget.turns - spent.turns == 1 or (budget.tool_calls > 0 and budget.tool_calls - spent.tool_calls == 1)


def warnings(budget: Budget, spent: Spent) -> list[str]:
    """What is nearly used up, in words; empty while there is plenty."""
    said = []
    turns, calls = budget.turns - spent.turns, budget.tool_calls - spent.tool_calls
    if 1 <= turns <= 2 < budget.turns:
        said.append(f"{turns} turn{'s' if turns > 1 else ''} left")
    if 1 <= calls <= 3 < budget.tool_calls:
        said.append(f"{calls} tool call{'s' if calls > 1 else ''} left")
    for used, most, unit in (
        (spent.tokens, budget.tokens, "of the tokens"), (spent.cost_usd, budget.cost_usd, "of the money"), (spent.wall_s, budget.wall_s, "of the time"),
    ):  # fmt: skip
        if most and used >= NEAR * most:
            said.append(f"{min(99, round(100 * used / most))} % {unit} used")
    return said
