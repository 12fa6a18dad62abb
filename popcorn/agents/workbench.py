"""Workbench: what the tools of one run share: the problem, the engine, answers by content, the best kernel so far. Knows no model."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from popcorn.agents.tools.answer import Answer, Tool, cut
from popcorn.errors import BadCandidate, PopcornError
from popcorn.schema.case import Precision
from popcorn.schema.measurement import Measurement
from popcorn.suites.problems import Problem

if TYPE_CHECKING:
    from popcorn.agents.place import Place
    from popcorn.schema.record import Record
    from popcorn.worker.building import Built
    from popcorn.worker.request import Request

MAX_KERNEL_BYTES = 256_000
SLACK_S = 0.05
"""By so much a record's own seconds may be more than those of the call that asked for it; beyond, the work was not done for this call."""
"""A kernel of a model is some kilobytes; a text of megabytes is refused before anybody reads it."""


@dataclass(frozen=True)
class Settings:
    """How kernels are judged in this run."""

    language: str
    precision: Precision = "float32"
    budget_s: float = 10.0
    """Seconds for taking turns in submit_kernel."""
    timeout_s: float = 60.0
    build_timeout_s: float = 300.0
    trials: int = 8
    compile_baseline: bool = True
    control: bool = True


@dataclass(frozen=True)
class Kept:
    """One kernel of this run."""

    source: str
    outcome: str | None = None
    speedup: float | None = None
    record_id: str | None = None


@dataclass
class Workbench:
    """One run's tools at work. Answers of the same tool on the same text are remembered."""

    place: "Place"
    problem: Problem
    settings: Settings
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    best: Kept | None = None
    """The fastest correct kernel so far; one that was not timed counts as slowest."""
    last: Kept | None = None
    """The last text that any tool saw."""
    submitted: Kept | None = None
    last_profile: Measurement | None = None
    """Of the profile before, so that the next one can say what changed."""
    on_work: Callable[[str], None] = lambda _: None

    @property
    def language(self) -> str:
        """What kernels are to be written in."""
        return self.settings.language

    async def use(self, tool: Tool, source: str = "") -> Answer:
        """Ask a tool. Never raises for what a kernel or a model does; a fault of ours is an answer with `infrastructure`."""
        refused = self._refuse(source) if tool.takes_kernel else None
        if refused is not None:
            return refused
        key = (tool.name, _hash(source))
        answer = self.answers.get(key)
        if answer is not None:
            answer = answer.model_copy(update={"queue_s": 0.0, "run_s": 0.0, "data": {**answer.data, "cached": True}})
        else:
            answer = await self._ask(tool, source)
        self.note(tool, source, answer)
        return answer

    def note(self, tool: Tool, source: str, answer: Answer) -> None:
        """Remember an answer and what it says of the kernel; also for answers that are read back after a crash."""
        if answer.error is None:
            self.answers[tool.name, _hash(source)] = answer
        if not tool.takes_kernel or answer.error == "limit":
            return
        kept = Kept(source, answer.outcome, answer.speedup, answer.record_id)
        self.last = kept
        if answer.outcome == "correct" and (self.best is None or (answer.speedup or 0.0) > (self.best.speedup or 0.0)):
            self.best = kept
        self.last_profile = answer.measurement or self.last_profile
        if tool.name == "submit_kernel" and answer.error is None:
            self.submitted = kept

    async def build(self, source: str) -> "Built":
        """Through the build lane."""
        import asyncio  # 30 ms that a plan of a thousand runs need not spend; here and in the tools

        return await asyncio.wrap_future(self.place.engine.build(self.request(source)))

    async def evaluate(self, source: str, **more: Any) -> "Record":
        """Through both lanes; the record is in the store."""
        import asyncio

        return await asyncio.wrap_future(self.place.engine.submit(self.request(source, **more)))

    def request(self, source: str, **more: Any) -> "Request":
        """The evaluation of a kernel's text as the engine takes it. Raises BadCandidate when it is not in this run's language."""
        from popcorn.toolchain.languages import detect_language
        from popcorn.worker.request import Request

        settings, name = self.settings, self.name_of(source)
        asked: dict[str, Any] = {
            "problem": self.problem, "source": source, "language": detect_language(name, source, settings.language), "name": name,
            "precision": settings.precision, "device": self.place.device, "budget_s": settings.budget_s, "timeout_s": settings.timeout_s,
            "build_timeout_s": settings.build_timeout_s, "trials": settings.trials, "compile_baseline": settings.compile_baseline,
            "control": settings.control,
        }  # fmt: skip
        return Request(**(asked | more))

    def name_of(self, source: str) -> str:
        """A file name for a kernel's text: `kernel.c`, `kernel.cu`, or `kernel.py` for a Python module."""
        from popcorn.toolchain.languages import SUFFIX, is_python

        native = self.language in SUFFIX and (self.language in ("c", "sycl") or not is_python("kernel", source))
        return "kernel" + (SUFFIX[self.language] if native else ".py")

    def _refuse(self, source: str) -> Answer | None:
        if not isinstance(source, str) or not source.strip():
            return Answer(text="kernel_code is empty; give the kernel's whole source.", ok=False, error="parsing")
        size = len(source.encode("utf-8", "surrogatepass"))
        if size > MAX_KERNEL_BYTES:
            text = f"kernel_code has {size:,} bytes; at most {MAX_KERNEL_BYTES:,} are read. Send the kernel's source alone."
            return Answer(text=text, ok=False, error="limit")
        return None

    async def _ask(self, tool: Tool, source: str) -> Answer:
        began = time.monotonic()
        answer = await self._asked(tool, source)
        wall_s = time.monotonic() - began
        if answer.queue_s + answer.run_s > wall_s + SLACK_S:  # somebody else's evaluation: from the store, or joined on its way
            answer = answer.model_copy(update={"queue_s": min(answer.queue_s, wall_s), "run_s": 0.0})
        return answer

    async def _asked(self, tool: Tool, source: str) -> Answer:
        try:
            answer = await tool.run(self, source)
        except BadCandidate as error:
            return Answer(text=f"{tool.name} FAILED: {error}", ok=False, outcome="compile_error", data={"reason": str(error)})
        except PopcornError as error:
            return Answer(text=f"{tool.name} could not be used: {error}", ok=False, error="infrastructure")
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:500]
            return Answer(text=f"{tool.name} could not answer, by a fault of the harness: {said}", ok=False, error="infrastructure")
        if answer.outcome == "harness_error":
            return answer.model_copy(update={"error": "infrastructure"})
        return answer.model_copy(update={"text": cut(answer.text)})


def _hash(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
