"""Recorder: one run as it goes, in its journal and as a Run. Whatever the journal already holds is read back instead of done again. Needs Inspect."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspect_ai.model import ModelOutput

from popcorn import __version__
from popcorn.agents.budget import Budget, Ended, Spent
from popcorn.agents.journal import Journal
from popcorn.agents.models import Row
from popcorn.agents.prompts import wording
from popcorn.agents.spoken import Said, add, reasoning_of, slim, text_of, tokens_of
from popcorn.agents.tiers import Tier
from popcorn.agents.tools.answer import Answer
from popcorn.agents.tools.registry import find_tool, tools
from popcorn.agents.workbench import Kept, Workbench
from popcorn.errors import BadAgent
from popcorn.records.runs import write_run
from popcorn.schema.run import Run, Tokens, ToolCall, Turn

Observer = Callable[[str, "Recorder"], None]
"""Told what is happening (`open`, `asking`, `answered`, `calling TOOL`, `turn`, `end`) the moment it is, with the recorder."""


def run_id(workbench: Workbench, model: str, tier: Tier, budget: Budget, repeat: int, salt: str = "") -> str:
    """16 hex digits: the same question in the same words asked by the same command has the same id, so that it can go on where it stopped."""
    settings = workbench.settings
    parts = [
        workbench.problem.id, workbench.problem.hash, model, tier.model_dump(), vars(budget), vars(settings), repeat, workbench.place.machine().device_id, salt, wording(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Recorder:
    """Turns, calls and totals of one run."""

    def __init__(
        self, run: Run, folder: Path, workbench: Workbench, row: Row, tier: Tier, budget: Budget, observe: Observer = lambda *_: None
    ):
        self.journal = Journal(folder)
        self.workbench, self.row, self.tier, self.budget, self.observe = workbench, row, tier, budget, observe
        self.spent = Spent()
        opened = self.journal.find("open")
        self.run = Run.model_validate(opened["run"]) if opened else run.model_copy(update={"started": _now(), "harness": __version__})
        self.asked: list[tuple[str, Answer]] = []
        """Tools as they were used, in order; for agents that are not ours."""
        self.answer: Answer | None = None
        self.ended: Run | None = self.journal.finished()
        if self.ended is not None:  # it may have been killed between its last line and its file
            self.run = self.ended
            write_run(self.run, self.journal.folder.parent)
        elif not opened:
            self.journal.add("open", run=self.run.model_dump(mode="json"))
            write_run(self.run, self.journal.folder.parent)
        self.observe("open", self)

    # -- asking the model ------------------------------------------------------------------------------------------------------------

    def said(self, turn: int) -> Said | None:
        """What the model already answered in this turn, before a crash."""
        line = self.journal.find("output", turn=turn)
        if line is None:
            return None
        rest = {name: line[name] for name in ("llm_s", "retries", "started", "trims", "note", "oversize")}
        return Said(ModelOutput.model_validate(line["output"]), **rest)

    def keep_said(self, turn: int, said: Said) -> Said:
        """On disk before any tool runs: what was paid for is never asked again."""
        said.output, said.oversize = slim(said.output)
        facts = {name: getattr(said, name) for name in ("llm_s", "retries", "started", "trims", "note", "oversize")}
        self.journal.add("output", turn=turn, output=said.output.model_dump(mode="json", exclude_none=True, exclude={"time"}), **facts)
        self.observe("answered", self)
        return said

    # -- calls -----------------------------------------------------------------------------------------------------------------------

    async def call(self, turn: int, position: int, name: str, arguments: dict[str, Any], ask: Callable[[], Awaitable[Answer]]) -> ToolCall:
        """One call: read back, or asked now; counted, on disk when this returns."""
        self.spent.tool_calls += 1
        line = self.journal.find("call", turn=turn, position=position)
        if line is not None:
            answer = Answer.model_validate(line["answer"])
            if name in tools():
                self.workbench.note(find_tool(name), str(arguments.get("kernel_code", "")), answer)
            return ToolCall.model_validate(line["call"])
        self.observe(f"calling {name}", self)
        began = time.monotonic()
        answer = await ask()
        call = ToolCall(
            tool=name[:100], arguments=arguments, result=answer.text, data=_facts(answer), ok=answer.ok, error=answer.error,
            wall_s=time.monotonic() - began, queue_s=answer.queue_s, run_s=answer.run_s,
        )  # fmt: skip
        self.journal.add("call", turn=turn, position=position, call=call.model_dump(mode="json"), answer=answer.model_dump(mode="json"))
        return call

    # -- turns -----------------------------------------------------------------------------------------------------------------------

    def close_turn(self, index: int, said: Said, calls: list[ToolCall], wall_s: float, final: bool) -> Turn:
        """The turn as it is kept; one that was closed before a crash keeps its times."""
        line = self.journal.find("turn", index=index)
        if line is not None:
            turn = Turn.model_validate(line["turn"])
        else:
            tokens = tokens_of(said.output)
            tool_s = sum(call.wall_s or 0.0 for call in calls)
            turn = Turn(
                index=index, started=said.started, wall_s=max(wall_s, said.llm_s + tool_s), llm_s=said.llm_s, tool_s=tool_s,
                queue_s=sum(call.queue_s or 0.0 for call in calls), tokens=tokens, cost_usd=self.row.cost_usd(tokens), retries=said.retries,
                reasoning=reasoning_of(said.message), text=text_of(said.message), calls=tuple(calls), note=said.note,
                stop_reason=said.output.stop_reason, final=final,
            )  # fmt: skip
            self.journal.add("turn", index=index, turn=turn.model_dump(mode="json"))
        self._add(turn, truncated=said.trims > 0)
        return turn

    def _add(self, turn: Turn, truncated: bool = False) -> None:
        run, spent = self.run, self.spent
        # what others made it wait is no part of what a model may spend: results would depend on how many share a device
        spent.turns, spent.wall_s = turn.index, spent.wall_s + max(0.0, (turn.wall_s or 0.0) - (turn.queue_s or 0.0))
        spent.tokens += turn.tokens.total or 0
        spent.cost_usd += turn.cost_usd or 0.0
        known = turn.cost_usd is not None and (run.cost_usd is not None or not run.turns)
        self.run = run.model_copy(
            update={
                "turns": (*run.turns, turn), "tool_calls": spent.tool_calls, "tokens": add(run.tokens, turn.tokens),
                "cost_usd": spent.cost_usd if known else None, "wall_s": (run.wall_s or 0.0) + (turn.wall_s or 0.0), "truncated": run.truncated or truncated,
            }
        )  # fmt: skip
        write_run(self.run, self.journal.folder.parent)
        self.observe("turn", self)

    def waited(self, wall_s: float) -> None:
        """Time that passed without an answer; a run that goes on later has it again."""
        self.spent.wall_s += wall_s
        self.run = self.run.model_copy(update={"wall_s": (self.run.wall_s or 0.0) + wall_s})

    # -- the end ---------------------------------------------------------------------------------------------------------------------

    async def end(self, ended: Ended | str, reason: str | None = None) -> Run:
        """Settle what was submitted: the model's own, else the best correct kernel so far, else the last one tried; and say who did."""
        bench = self.workbench
        submitted_by = "model" if bench.submitted is not None else None
        if bench.submitted is None and (kept := bench.best or bench.last) is not None:
            submitted_by = "harness"
            await self._submit(kept)
        final = bench.submitted or bench.last
        self.run = self.run.model_copy(
            update={
                "ended_by": ended, "reason": reason, "submitted_by": submitted_by, "finished": _now(), "candidate": final.source if final else None,
                "record_id": final.record_id if final else None, "outcome": (final.outcome or "harness_error") if final else "no_kernel",
                "speedup": final.speedup if final else None, "tool_calls": self.spent.tool_calls,
            }
        )  # fmt: skip
        self.run = Run.model_validate(self.run.model_dump())
        self.journal.add("end", run=self.run.model_dump(mode="json"))
        write_run(self.run, self.journal.folder.parent)
        self.ended = self.run
        self.observe("end", self)
        return self.run

    async def _submit(self, kept: Kept) -> None:
        line = self.journal.find("submit")
        if line is not None:
            self.workbench.note(find_tool("submit_kernel"), kept.source, Answer.model_validate(line["answer"]))
            return
        self.observe("calling submit_kernel", self)
        answer = await self.workbench.use(find_tool("submit_kernel"), kept.source)
        self.journal.add("submit", answer=answer.model_dump(mode="json"))


def open_run(workbench: Workbench, model: str, tier: Tier, budget: Budget, repeat: int, identity: str, prompt: str, reference: str) -> Run:
    """A Run before its first turn."""
    settings = workbench.settings
    return Run(
        id=identity, problem=workbench.problem.id, model=model, tier=tier.name, language=settings.language, precision=settings.precision, repeat=repeat,
        device=workbench.place.machine().device_id, max_turns=budget.turns, max_tool_calls=budget.tool_calls, max_tokens=budget.tokens,
        max_cost_usd=budget.cost_usd, max_wall_s=budget.wall_s, prompt=prompt, reference=reference, tokens=Tokens(),
    )  # fmt: skip


def one_open(recorders: dict[str, Recorder], identity: object) -> Recorder:
    """The open run of an id. Raises BadAgent where the task's own setup did not run."""
    if identity not in recorders:
        raise BadAgent("no run is open here; use the task popcorn/kernels, whose setup opens one for every sample.")
    return recorders[str(identity)]


def _facts(answer: Answer) -> dict[str, Any]:
    known = {"record_id": answer.record_id, "outcome": answer.outcome, "speedup": answer.speedup}
    return {**answer.data, **{name: value for name, value in known.items() if value is not None}}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
