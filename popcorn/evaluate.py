"""The main path: one candidate, one problem, one answer. build → oracle → judge → time → count → record.

Nothing else in the project measures or judges a kernel, and only this file makes records of candidates.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from popcorn.errors import PopcornError, UnwritableStore
from popcorn.records.store import Store
from popcorn.schema.measurement import Measurement
from popcorn.schema.record import Build, Lane, Record
from popcorn.schema.verdict import Verdict
from popcorn.suites.problems import facts
from popcorn.worker.bench import Bench, BenchClosed
from popcorn.worker.building import run_build
from popcorn.worker.comparing import time_candidate
from popcorn.worker.compiled import add_compiled
from popcorn.worker.counting import count
from popcorn.worker.judging import judge_candidate, open_oracle
from popcorn.worker.profiled import profile_of
from popcorn.worker.rank_measuring import judge_ranks
from popcorn.worker.refused import Refused
from popcorn.worker.request import Request
from popcorn.worker.session import Session
from popcorn.worker.writing import candidate_hash, finish

RETRIES = 2


@dataclass
class Answer:
    """What is known so far; it only grows."""

    verdict: Verdict = field(default_factory=lambda: Verdict(outcome="harness_error", reason="nothing was decided", stage="load"))
    build: Build = field(default_factory=Build)
    measurement: Measurement = field(default_factory=Measurement)
    lanes: dict[str, Lane] = field(default_factory=dict)


def evaluate(request: Request, bench: Bench, store: Store, progress: Callable[[str], None] = lambda _: None) -> Record:
    """Judge and measure one candidate on this bench; the record is in the store when this returns.

    Whatever the candidate does is a verdict. A fault of ours is tried again, then recorded as `harness_error`.
    """
    started = time.monotonic()
    for attempt in range(RETRIES + 1):
        answer = Answer()
        with Session(bench, request, request.problem.hash, candidate_hash(request.source), progress) as session:
            try:
                _run(session, answer, store)
                break
            except (PopcornError, BenchClosed):
                raise
            except Exception as failure:  # HarnessFailure, or a fault that nobody foresaw: no record is lost to either
                answer.verdict = Verdict(outcome="harness_error", reason=f"{type(failure).__name__}: {failure}"[:2000], stage="load")
                answer.measurement = Measurement()
                progress(
                    f"a fault of ours, attempt {attempt + 1} of {RETRIES + 1}: {(str(failure) or type(failure).__name__).splitlines()[0]}"
                )
    record = finish(session, answer.verdict, answer.build, answer.measurement, answer.lanes, time.monotonic() - started)
    try:
        store.append(record)
    except UnwritableStore as error:
        error.record = record
        raise
    return record


def record_crash(request: Request, bench: Bench, store: Store, reason: str) -> Record:
    """The record of a case that took a whole run with it, so that it is not tried for ever: outcome `crash`, nothing measured."""
    with Session(bench, request, request.problem.hash, candidate_hash(request.source), lambda _: None) as session:
        record = finish(session, Verdict(outcome="crash", reason=reason, stage="load"), Build(), Measurement(), {}, 0.0)
    store.append(record)
    return record


def _run(session: Session, answer: Answer, store: Store) -> None:
    lane = "build"
    try:
        answer.build, answer.lanes[lane] = run_build(session)
        lane = "device"
        with profile_of(session):
            _, answer.lanes[lane] = session.bench.device_lane.run(
                lambda: _judge_and_measure(session, answer, store),
                lambda holder: session.progress(f"waiting for the device: {holder} has it"),
            )
    except Refused as refused:
        answer.lanes[lane] = getattr(refused, "lane", Lane())
        answer.build = session.build_record()
        answer.verdict = refused.verdict()


def _judge_and_measure(session: Session, answer: Answer, store: Store) -> None:
    """Everything that needs the device, in one turn of its queue."""
    try:
        _in_the_lane(session, answer, store)
    finally:
        session.leave()
        session.bench.stock()  # while nobody times


def _in_the_lane(session: Session, answer: Answer, store: Store) -> None:
    if facts(session.request.problem).ranks is not None:
        answer.verdict, answer.measurement = judge_ranks(session)
        return
    open_oracle(session)
    answer.verdict, trials = judge_candidate(session)
    if not answer.verdict.correct or not session.request.timing:
        return
    try:
        timing, taken = time_candidate(session, trials)
        answer.measurement = count(session, trials, add_compiled(session, trials, timing, store), taken)
        told = {
            "timed_outputs_judged": taken.judged, "timed_calls": taken.timed_calls, "defences_passed": tuple(session.passed),
            "notes": tuple(dict.fromkeys([*answer.verdict.notes, *session.remarks])),
        }  # fmt: skip
        answer.verdict = answer.verdict.model_copy(update=told)
    except Refused as refused:
        # it passed the trials and failed while it was timed: the later answer holds, and there is no speed
        later = refused.verdict()
        answer.verdict = answer.verdict.model_copy(
            update={name: getattr(later, name) for name in ("outcome", "reason", "stage", "rule", "violations")}
        )
        answer.measurement = Measurement()
