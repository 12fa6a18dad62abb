"""The second baseline: the reference under torch.compile, measured once per problem, case, machine and torch version, then remembered."""

from popcorn.errors import HarnessFailure
from popcorn.records.store import Store
from popcorn.schema.measurement import Measurement, Timing
from popcorn.schema.record import Build, Record, Subject
from popcorn.schema.verdict import Verdict
from popcorn.worker.comparing import time_compiled
from popcorn.worker.judging import Trials
from popcorn.worker.refused import Refused
from popcorn.worker.session import Session
from popcorn.worker.taken import speedup_over_compiled
from popcorn.worker.writing import case_of, make_record


def add_compiled(session: Session, trials: Trials, timing: Timing, store: Store) -> Timing:
    """The timing with torch.compile's figures beside eager's, or the reason why there are none."""
    if not session.request.compile_baseline:
        return timing.model_copy(update={"compiled_reason": "not asked for"})
    baseline = find_baseline(session, store)
    if baseline is not None:
        unfit = "" if _is_fit(baseline) else f"; the machine was not fit then: `popcorn judge {baseline.id} condemned` has it measured anew"
        session.remarks[
            f"torch.compile's time is remembered from {baseline.provenance.made[:16].replace('T', ' ')} UTC "
            f"(record {baseline.id}), against eager then{unfit}"
        ] = None
    else:
        session.progress("torch.compile's baseline, once for this problem on this machine")
        baseline = _measure(session, trials)
        if baseline.verdict.outcome != "harness_error":
            store.append(baseline)
    measured = baseline.measurement.timing
    if measured is None:
        return timing.model_copy(update={"compiled_reason": baseline.verdict.reason})
    inverse = measured.speedup.model_copy(
        update={"value": 1 / measured.speedup.value, "low": 1 / measured.speedup.high, "high": 1 / measured.speedup.low}
    )
    return timing.model_copy(update={"compiled": measured.candidate, "speedup_compiled": speedup_over_compiled(timing, inverse)})


def find_baseline(session: Session, store: Store) -> Record | None:
    """A baseline of exactly this problem text, case, device, torch and thread count; one whose controls passed, where there is one."""
    machine, case = session.bench.machine, case_of(session)
    unfit: Record | None = None
    for record in store.find(problem=session.request.problem.id, kind="baseline", condemned=False):
        if "['_orig_mod." in (record.verdict.reason or ""):  # refused for names of gradients that were ours to keep, until November 2026
            continue
        same_machine = (record.machine.id, record.machine.torch, record.machine.threads) == (machine.id, machine.torch, machine.threads)
        if same_machine and record.subject.problem_hash == session.request.problem.hash and record.case == case:
            if _is_fit(record):
                return record
            unfit = unfit or record
    return unfit


def _is_fit(baseline: Record) -> bool:
    """False where it was timed and its own controls did not pass."""
    timing = baseline.measurement.timing
    return timing is None or timing.control is None or timing.control.fit is not False


def _measure(session: Session, trials: Trials) -> Record:
    problem = session.request.problem
    subject = Subject(
        problem=problem.id,
        problem_hash=problem.hash,
        implementation="compile",
        language="torch",
        name="torch.compile(Model)",
        reference=problem.source,
    )
    try:
        timing = time_compiled(session, trials)
        verdict, measurement = Verdict(outcome="correct", trials=1, trials_passed=1), Measurement(timing=timing)
    except Refused as refused:
        verdict, measurement = refused.verdict(), Measurement()
    except HarnessFailure as failure:
        # torch.compile fell over, or its process was ended from outside: told here, and tried again another time
        verdict = Verdict(outcome="harness_error", reason=f"torch.compile fails: {failure}"[:1000], stage="load")
        measurement = Measurement()
    return make_record(session, "baseline", subject, verdict, Build(), measurement, {}, None)
