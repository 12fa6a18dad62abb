"""Models whose provider fails rest: their jobs wait, so that neither an outage nor a wrong key uses up the retries of all of them. Imports no torch."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

IN_A_ROW = 5
"""Runs of a model that its provider broke off, without an answer between them, before the others wait."""
FIRST_S, LONGEST_S = 60.0, 1800.0
"""A rest; each further one takes twice as long."""
MOST_RESTS = 6
"""After so many, an hour in all, its jobs are left to a later session."""


@dataclass
class _State:
    failures: int = 0
    rests: int = 0
    until: float = 0.0
    trying: bool = False
    """Whether the one run is under way that finds out how things stand."""


class Resting:
    """Which models rest, in one session."""

    def __init__(self, tell: Callable[[str], None] = lambda _: None, now: Callable[[], float] = time.monotonic):
        self._tell, self._now = tell, now
        self._states: dict[str, _State] = {}

    def may_begin(self, model: str) -> bool:
        """Whether a job of this model may begin: after a rest one at a time, until there is an answer."""
        state = self._states.get(model)
        if state is None or state.failures < IN_A_ROW:
            return True
        if self.rests(model):
            return False
        state.trying = True
        return True

    def rests(self, model: str) -> bool:
        """Whether its jobs wait."""
        state = self._states.get(model)
        return state is not None and state.failures >= IN_A_ROW and (state.trying or self._left(state) > 0)

    def left_s(self, models: Iterable[str]) -> float | None:
        """Until the first of them may be tried again; None where all are left to a later session."""
        left = [self._left(self._states[model]) for model in models if model in self._states]
        return min((one for one in left if one != float("inf")), default=None)

    def answered(self, model: str) -> None:
        """All is well."""
        if self._states.pop(model, _State()).rests:
            self._tell(f"{model}: answers again")

    def failed(self, model: str, reason: str) -> None:
        """Its provider broke a run off."""
        state = self._states.setdefault(model, _State())
        state.failures += 1
        if state.failures < IN_A_ROW or (state.rests and not state.trying):
            return  # few so far, or one that was under way when the rest began
        state.trying, state.rests = False, state.rests + 1
        rest_s = min(LONGEST_S, FIRST_S * 2 ** (state.rests - 1))
        state.until = self._now() + rest_s
        waits = f"its jobs rest {rest_s:.0f} s" if state.rests <= MOST_RESTS else "its jobs are left to `popcorn sweep resume`"
        self._tell(f"{model}: the provider broke off {state.failures} runs in a row ({reason[:200]}); {waits}")

    def let_go(self, model: str) -> None:
        """The run that was to find out ended in another way."""
        if model in self._states:
            self._states[model].trying = False

    def told(self) -> list[str]:
        """Of each model that rests, for how long."""
        found = []
        for model, state in self._states.items():
            if self.rests(model):
                left_s = self._left(state)
                found.append(f"{model} (left for this session)" if left_s == float("inf") else f"{model} ({max(0.0, left_s):.0f} s)")
        return found

    def _left(self, state: _State) -> float:
        return float("inf") if state.rests > MOST_RESTS else state.until - self._now()
