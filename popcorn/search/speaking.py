"""One question to a model, one answer with its tokens and its price: what proposers, verifiers and the meta-prompter share."""

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from popcorn.agents.models import Row, open_model
from popcorn.schema.run import Tokens

MAX_ANSWER = 400_000


@dataclass(frozen=True)
class Said:
    """A model's answer."""

    text: str
    tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    """Why there is none; nothing that a provider does ends a search."""


class Speaker(Protocol):
    """Answers questions."""

    name: str

    def ask(self, system: str, question: str) -> Said:
        """One answer. Called from several threads; never raises for what a provider does."""


class ModelSpeaker:
    """A row of models.toml. Raises BadAgent at the first question where its key or package is missing."""

    def __init__(self, row: Row):
        self.row, self.name = row, row.name

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # a model's connections belong to one event loop
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True, name=f"model-{self.name}").start()
        return loop

    @cached_property
    def _model(self) -> Any:
        return open_model(self.row)

    def ask(self, system: str, question: str) -> Said:
        model = self._model
        return self._run(self._generate(model, system, question))

    def _run(self, work: Coroutine[Any, Any, Said]) -> Said:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _generate(self, model: Any, system: str, question: str) -> Said:
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser

        try:
            output = await model.generate([ChatMessageSystem(content=system), ChatMessageUser(content=question)])
        except Exception as error:  # whatever a provider or its library does is an answer that did not come
            return Said("", error=f"{type(error).__name__}: {' '.join(str(error).split())}"[:300])
        usage = output.usage
        if usage is None:
            return Said(output.completion[:MAX_ANSWER])
        # Inspect counts cached input apart from the rest
        cached = usage.input_tokens_cache_read or 0
        tokens = Tokens(input=usage.input_tokens + cached, cached=cached, output=usage.output_tokens)
        return Said(output.completion[:MAX_ANSWER], usage.total_tokens, self.row.cost_usd(tokens))


@dataclass
class ScriptedSpeaker:
    """Answers from a list, in order, the last again and again; each costs nothing. Ships for tests and offline runs."""

    answers: list[str]
    name: str = "script"
    cost_usd: float | None = 0.0

    def __post_init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def ask(self, system: str, question: str) -> Said:
        self.asked.append((system, question))
        return Said(self.answers[min(len(self.asked), len(self.answers)) - 1], 10, self.cost_usd)
