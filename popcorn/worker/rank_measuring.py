"""A candidate that communicates, judged and timed: what evaluate.py asks for in place of trials and turns. In the parent, without torch."""

import math
import statistics
from typing import Any

from popcorn.measure.stats import compared, interval, ratio
from popcorn.measure.steadiness import Watch
from popcorn.schema.case import Precision as Element
from popcorn.schema.measurement import Control, Counters, Energy, Launches, Measurement, Memory, Ranks, Roofline, Samples, Timing
from popcorn.schema.verdict import Precision, Verdict
from popcorn.toolchain.languages import is_python
from popcorn.worker.rank_groups import Launched, Setting
from popcorn.worker.ranks import Rounds, compare_ranks, slowest, spread, why_not
from popcorn.worker.refused import Refused
from popcorn.worker.session import Session

ROUNDS = 3
"""Rounds of reference, candidate, reference; two where the budget is under a second."""
_ONE = "not taken for a problem of several processes"


def judge_ranks(session: Session) -> tuple[Verdict, Measurement]:
    """Verdict and measurement of a candidate on N processes. Raises Refused where this machine or the request cannot have one."""
    request, cuda = session.request, session.bench.cuda
    world = session.nominal["WORLD"]
    precision: Element = request.precision
    reason = why_not(request.problem, world, cuda)
    if reason is None and not is_python(request.language, request.source):
        reason = "a candidate that communicates is Python with ModelNew, whose forward takes the process group last"
    if reason is None and (request.gradient != "none" or precision != "float32"):
        reason = "problems of communication are judged forward and in float32"
    if reason is not None:
        raise Refused("rejected", f"{request.problem.id} {reason}", "load")
    setting = Setting(request.problem, world, cuda, 3 * request.timeout_s)
    folder = session.new_folder("ranks")
    rounds = ROUNDS if request.budget_s >= 1 else 2
    watch = Watch(session.bench.machine, *session.processes())
    found = compare_ranks(setting, request.source, session.secret, rounds, request.timing, request.control, session.progress, folder)
    steadiness = watch.check()
    verdict = _verdict(found, request.timing)
    if not verdict.correct or not request.timing:
        return verdict, Measurement()
    timing = _timing(found, setting, list(steadiness.reasons) if steadiness.fit is False else [], request.control)
    told = Ranks(
        world=world, backend="nccl" if cuda else "gloo", candidate_s=slowest(found.candidate), reference_s=slowest(found.reference),
        calls=found.candidate[0].calls,
    )  # fmt: skip
    return verdict, Measurement(
        timing=timing,
        ranks=told,
        memory=Memory(reason=_ONE),
        launches=Launches(reason=_ONE),
        energy=Energy(reason=_ONE),
        roofline=Roofline(reason=_ONE),
        counters=Counters(reason=_ONE),
    )


def _verdict(found: Rounds, timed: bool) -> Verdict:
    stage: Any = (
        None if found.outcome == "correct" else "load" if found.outcome in ("invalid_reference", "compile_error") else "correctness"
    )
    error = found.errors
    precision = (
        (Precision(output="out", mean_rel_error=error["mean_error"], worst=error["largest_error"], bound=error["bound"]),) if error else ()
    )
    rows = len(found.candidate) if timed else 0
    return Verdict(
        outcome=found.outcome, reason=found.reason, stage=stage, trials=found.trials, trials_passed=found.trials, precision=precision,
        truth_dtype="float64", timed_outputs_judged=rows, timed_calls=sum(one.calls for one in found.candidate), notes=found.missing,
        defences_passed=("own_process", "hidden_seeds", "parent_record", "typed_outcomes", *(() if found.missing else ("sandbox",))),
    )  # fmt: skip


def _timing(found: Rounds, setting: Setting, reasons: list[str], controlled: bool) -> Timing:
    mine, theirs = spread(found.candidate), spread(found.reference)
    control, noise = Control(reason="not asked for"), 0.0
    if controlled:
        aa = ratio([[a] for a in spread(found.again)], [[b] for b in theirs])
        noise = abs(aa.value - 1)
        if not aa.low <= 1 <= aa.high:
            reasons.append(f"the reference against itself gives {aa.value:.4f} [{aa.low:.4f}, {aa.high:.4f}], which excludes 1")
        no_plant = "no slowdown was planted: rows of calls of several processes have none"
        control = Control(aa=aa, noise=noise, fit=not reasons, reason="; ".join([*reasons, no_plant]))
    speedup = ratio([[a] for a in theirs], [[b] for b in mine])
    return Timing(
        candidate=_samples(found.candidate), baseline=_samples(found.reference), speedup=speedup, comparison=compared(speedup, noise),
        compiled_reason=_ONE, stopped_by="budget", parent_time_s=statistics.median(mine), control=control,
        method=f"the parent's clock around rows of {found.candidate[0].calls} calls, {len(mine)} launches of {setting.world} processes over "
        f"{setting.backend}, warm",
    )  # fmt: skip


def _samples(launched: list[Launched]) -> Samples:
    times = sorted(spread(launched))
    centre, low, high = interval([[math.log(one)] for one in spread(launched)])
    return Samples(
        time_s=math.exp(centre), low_s=math.exp(low), high_s=math.exp(high), p10_s=times[0], p90_s=times[-1], mean_s=statistics.mean(times),
        std_s=statistics.stdev(times) if len(times) > 1 else None, warm_time_s=math.exp(centre),
        blocks_s=tuple(((one,),) for one in spread(launched)),
    )  # fmt: skip
