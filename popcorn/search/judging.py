"""Judges over engines: a request to the main path, its record as what a search needs. Several devices judge side by side, fitness each.

The evaluator lets candidate and reference take turns in one run, in fresh processes; so a speedup is comparable between runs though the
machine drifts.
"""

import dataclasses
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from popcorn.agents.told import build_lines, measured_lines, precision_lines, roofline_lines
from popcorn.errors import BadCandidate
from popcorn.schema.record import Record
from popcorn.search.behaviour import counted, describe
from popcorn.search.fitness import worst
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged
from popcorn.suites.problems import Problem
from popcorn.toolchain.languages import SUFFIX, detect_language, is_python
from popcorn.worker.engine import Engine
from popcorn.worker.request import Request


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much an evaluation of a search may cost."""

    budget_s: float = 1.0
    timeout_s: float = 60.0
    build_timeout_s: float = 300.0
    trials: int = 5
    control: bool = False
    energy: bool = False
    compile_baseline: bool = False
    counters: bool = False


class EngineJudge:
    """One engine and device."""

    def __init__(self, engine: Engine, problem: Problem, plan: SearchPlan, device: str = "auto", effort: Effort | None = None):
        self.engine, self.problem, self.plan, self.device, self.effort = engine, problem, plan, device, effort or Effort()

    def judge(self, source: str) -> Judged:
        """Through both lanes; the record is in the store."""
        try:
            return judged_of(self.submit(source).result())
        except BadCandidate as error:
            return Judged(outcome="compile_error", reason=str(error))

    def submit(self, source: str) -> "Future[Record]":
        """The evaluation's future. Raises BadCandidate for a text that is not in the language."""
        plan = self.plan
        native = plan.language in SUFFIX and (plan.language in ("c", "sycl") or not is_python("kernel", source))
        name = "kernel" + (SUFFIX[plan.language] if native else ".py")
        return self.engine.submit(
            Request(
                problem=self.problem, source=source, language=detect_language(name, source, plan.language), name=name, precision=plan.precision,
                gradient=plan.gradient, device=self.device, **dataclasses.asdict(self.effort),
            )
        )  # fmt: skip


class DevicesJudge:
    """Several judges by the name of their device: a program is as correct as the worst of them says, its fitness the mean of theirs."""

    def __init__(self, judges: Mapping[str, EngineJudge]):
        self.judges = dict(judges)

    def judge(self, source: str) -> Judged:
        """All at once."""
        try:
            futures = {name: judge.submit(source) for name, judge in self.judges.items()}
        except BadCandidate as error:
            return Judged(outcome="compile_error", reason=str(error))
        return joined({name: judged_of(future.result()) for name, future in futures.items()})


def joined(by_device: Mapping[str, Judged]) -> Judged:
    """One judgement of several."""
    outcome = worst([one.outcome for one in by_device.values()])
    lead = next(one for one in by_device.values() if one.outcome == outcome)
    told = "\n".join(f"{name}: {one.told or one.reason or one.outcome}" for name, one in by_device.items())
    speed: dict[str, Any] = {}
    if outcome == "correct" and all(one.speedup is not None for one in by_device.values()):
        for field in ("speedup", "low", "high"):
            product = 1.0
            for one in by_device.values():
                product *= getattr(one, field) or 1.0
            speed[field] = product ** (1 / len(by_device))
    return Judged(
        outcome=outcome, reason=lead.reason, record_id=lead.record_id, device_s=sum(one.device_s for one in by_device.values()), told=told,
        by_device=dict(by_device), **speed,
    )  # fmt: skip


def judged_of(record: Record) -> Judged:
    """The part of a record that a search needs."""
    timing = record.measurement.timing
    speed = timing.speedup if timing is not None else None
    correct = record.verdict.correct
    lines = (
        [*measured_lines(record), *roofline_lines(record.measurement)]
        if correct
        else [*build_lines(record.build), *precision_lines(record)]
    )
    return Judged(
        outcome=record.verdict.outcome,
        reason=(record.verdict.reason or "")[:2000] or None,
        speedup=speed.value if speed else None,
        low=speed.low if speed else None,
        high=speed.high if speed else None,
        record_id=record.id,
        device_s=record.provenance.device_lane.run_s,
        told="\n".join(lines)[:4000],
        cell=_cell(record),
    )


def _cell(record: Record) -> tuple[int, int, int] | None:
    """Its behaviour, where counters were read; else None, and the text alone decides."""
    counters, source = record.measurement.counters, record.subject.source
    return counted(describe(source, record.subject.language), counters) if counters.kernels and source else None
