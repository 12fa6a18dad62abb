"""Models whose provider fails rest, and so does a device whose evaluations do: jobs wait, so that neither an outage nor a full /dev/shm uses
up the retries of all of them. Imports no torch."""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

IN_A_ROW = 5
"""Runs that were broken off, without one that ended between them, before the others wait."""
FIRST_S, LONGEST_S = 60.0, 1800.0
"""A rest; each further one takes twice as long."""
REFUSED = re.compile(r"\b40[134]\b|\bAuthenticationError\b|\bPermissionDenied|\bNotFoundError\b|api[ _-]key", re.IGNORECASE)
"""A provider's word that a key is refused, or a model was withdrawn."""
MOST_RESTS = 6
"""After so many, an hour in all, its jobs are left to a later session."""


@dataclass
class _State:
    failures: int = 0
    rests: int = 0
    until: float = 0.0
    trying: str | None = None
    """The job under way that finds out how things stand."""


class Resting:
    """Which models, or devices, rest, in one session."""

    def __init__(
        self,
        what: str,
        tell: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
        later: str = "`popcorn sweep resume`",
        for_good: re.Pattern[str] | None = None,
    ):
        """`for_good` finds the reasons that get no better by waiting."""
        self._what, self._tell, self._now, self._later, self._for_good = what, tell, now, later, for_good
        self._states: dict[str, _State] = {}

    def begins(self, model: str, job: str) -> None:
        """A job of this model begins: after a rest the only one, until there is an answer."""
        state = self._states.get(model)
        if state is not None and state.failures >= IN_A_ROW:
            state.trying = job

    def rests(self, model: str) -> bool:
        """Whether its jobs wait."""
        state = self._states.get(model)
        return state is not None and state.failures >= IN_A_ROW and (state.trying is not None or self._left(state) > 0)

    def left_s(self, models: Iterable[str]) -> float | None:
        """Until the first of them may be tried again; None where all are left to a later session."""
        left = [self._left(self._states[model]) for model in models if model in self._states]
        return min((one for one in left if one != float("inf")), default=None)

    def answered(self, model: str) -> None:
        """All is well."""
        if self._states.pop(model, _State()).rests:
            self._tell(f"{model}: answers again")

    def failed(self, model: str, job: str, reason: str) -> None:
        """Its provider broke a run off."""
        state = self._states.setdefault(model, _State())
        state.failures += 1
        if state.failures < IN_A_ROW or (state.rests and state.trying != job):
            return  # few so far, or one that was under way when the rest began
        for_good = self._for_good is not None and self._for_good.search(reason)
        state.trying, state.rests = None, MOST_RESTS + 1 if for_good else state.rests + 1
        rest_s = min(LONGEST_S, FIRST_S * 2 ** (state.rests - 1))
        state.until = self._now() + rest_s
        waits = f"it rests {rest_s:.0f} s" if state.rests <= MOST_RESTS else f"it is left to {self._later}"
        self._tell(f"{model}: {self._what} broke off {state.failures} runs in a row ({reason[:200]}); {waits}")

    def let_go(self, model: str, job: str) -> None:
        """A job is no longer under way, however it ended."""
        state = self._states.get(model)
        if state is not None and state.trying == job:
            state.trying = None

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
