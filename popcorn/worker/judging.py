"""Is it right? Trials of a candidate against the oracle, and the verdict. Runs in the parent; sees numbers, never tensors."""

from dataclasses import dataclass, field
from typing import Any

from popcorn.schema.comparison import OutputErrors
from popcorn.schema.verdict import Outcome, Verdict, Violation
from popcorn.verify.defences.flags import remarks
from popcorn.verify.judge import BLIND, FLOORS, miss_of, unfit, worst
from popcorn.worker.held_out import draw_dims, hidden
from popcorn.worker.refused import Refused
from popcorn.worker.session import Session, Stage
from popcorn.worker.taken import GPU_LAUNCHES, HELD_BYTES, Taken

_PLAN = ("normal", "normal", "uniform", "structured", "large", "small", "one_hot", "equal_rows")
MIN_TRIALS = 5
_LIKELY = 3
"""Trials that a candidate has passed before anybody is brought for its timing: most wrong ones fail at the first other size."""
_REHEARSED = 100
"""So many times the inputs and outputs of a call must fit where all references are there at once."""
_MOST_TRIALS = 24
_MOST_AHEAD_BYTES = 64 << 20
"""Of inputs and outputs of a trial that is made while another is under way."""
_SIZES = {"any": "other sizes", "open": "other sizes", "held_out": "held-out sizes"}
TIMED = "the output of a timed call is wrong: "
OUT_OF_FORM = "the candidate's process answered out of form"


@dataclass
class Trials:
    """What the trials showed."""

    floor: float
    passed: int = 0
    judged: int = 0
    left_out: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    """Of values: those of trials that decided something."""
    aliases: set[str] = field(default_factory=set)
    """Outputs that the reference returned as views of its inputs in any trial."""
    errors: list[OutputErrors] = field(default_factory=list)
    first_call_s: float | None = None
    notes: list[str] = field(default_factory=list)
    blind: list[str] = field(default_factory=lambda: list(BLIND))
    """Answers that know nothing and would have passed every trial so far."""
    last: dict[str, Any] = field(default_factory=dict)
    """The oracle's description of the last nominal trial: sizes of inputs and outputs."""


def open_oracle(session: Session) -> None:
    """Start the oracle and let it read the problem."""
    for kept in session.bench.kept.values():
        for other in kept.begin(session.same):
            session.between.part(lambda other=other: session.bench.end_trusted(other))  # type: ignore[misc]
    session.oracle, _ = session.start_trusted("oracle")
    if session.bench.cuda and session.bench.bubble_s is None:
        asked = {"do": "bubble", "cache_bytes": session.bench.cache_bytes}
        session.bench.bubble_s = float(session.ask(session.oracle, asked)["bubble_s"])
    oracle_folder = {"problem": session.request.problem.model_dump(), "size": session.size}
    session.opened = session.ask(
        session.oracle, {"do": "open", **oracle_folder, "precision": session.request.precision, "gradient": session.gradient}
    )


def plan_trials(count: int, jitters: bool, noncontiguous: bool) -> list[tuple[str, str, bool]]:
    """(distribution, layout, jittered) of each trial: nominal sizes twice (a result kept by size shows), then other values and, where the problem allows, other sizes."""
    count = max(MIN_TRIALS, count)
    plan = [(_PLAN[i % len(_PLAN)], "contiguous", jitters and i > 1) for i in range(count)]
    if noncontiguous:
        plan += [("normal", "transposed", jitters), ("normal", "sliced", jitters)]
    return plan


def judge_candidate(session: Session) -> tuple[Verdict, Trials]:
    """All trials in one candidate child. Stops at the first failure."""
    request, opened = session.request, session.opened
    floor = opened["tolerance"] or FLOORS[request.precision]
    trials = Trials(floor)
    trials.notes += [str(remark)[:300] for remark in opened["remarks"]]
    plan = plan_trials(request.trials, opened["jitters"], opened["noncontiguous"])
    assert session.candidate is not None
    brought, early = not request.timing, False
    references = (1 + request.control) * GPU_LAUNCHES + 1  # and one that counts, as of candidates
    session.bench.stock(request.timing * (GPU_LAUNCHES + 1 + max(0, references - len(session.bench.kept["reference"].pids()))))
    for index, (distribution, layout, jittered) in enumerate(plan):
        session.progress(f"trial {index + 1} of {len(plan)}")
        if index == _LIKELY and request.timing and _little(session, trials):
            early = True
            session.bring_rehearsed(references)
        if index + 1 == len(plan) and not brought:
            brought = True
            session.bring(
                candidates=1, references=0 if early else 1 + (request.control and session.bench.cuda)
            )  # most who come as far as this are timed next
        dims = _dims(session, index, jittered)
        question = session.question(dims, "trial", index, distribution=distribution, layout=layout)
        also = (f", {layout}" if layout != "contiguous" else "") + (f", {_SIZES[request.sizes]}" if jittered else "")
        where = f"trial {index + 1} ({distribution} values{also}): "
        try:
            _one_trial(session, trials, question, index == 0, where, _coming(session, trials, plan, index))
        except Refused as refused:
            refused = refused.told_as(lambda text, dims=dims: hidden(text, dims, opened["nominal"]))  # type: ignore[misc]
            verdict = _verdict(trials, refused.outcome, refused.reason, refused.stage, session, refused.violations())
            return verdict.model_copy(
                update={"miss": miss_of(trials.errors, trials.floor) if refused.outcome == "wrong_values" else None}
            ), trials
        if index + 1 == len(plan) < _MOST_TRIALS and trials.judged < MIN_TRIALS:
            plan.append(("normal", "contiguous", opened["jitters"]))  # in place of one that decided nothing
    session.passed.update(dict.fromkeys(("fresh_inputs", "fresh_weights", "value_kinds")))
    session.passed.update({"hidden_sizes": None} if opened["jitters"] else {})
    if trials.judged < MIN_TRIALS:
        reason = f"{trials.judged or 'no'} trials could decide anything, and {MIN_TRIALS} are needed: " + "; ".join(trials.left_out[:3])
        return _verdict(trials, "invalid_reference", reason, "correctness", session), trials
    if trials.blind and request.implementation is None:  # an op's rows may have sizes at which there is nothing to know
        reason = f"{' and '.join(trials.blind)} would pass all {trials.judged} trials, too: what is right here says nothing about a kernel"
        return _verdict(trials, "invalid_reference", reason, "correctness", session), trials
    return _verdict(trials, "correct", None, None, session), trials


def _little(session: Session, trials: Trials) -> bool:
    """Whether all references of a comparison fit on the GPU at once, with room for what they make on the way."""
    each = trials.last["input_bytes"] + 2 * trials.last["output_bytes"]
    return session.bench.cuda and _REHEARSED * each < (session.bench.machine.memory_bytes or 0)


def _dims(session: Session, index: int, jittered: bool) -> dict[str, int]:
    return draw_dims(session, index) if jittered else session.opened["nominal"]


def _coming(session: Session, trials: Trials, plan: list[tuple[str, str, bool]], index: int) -> dict[str, Any] | None:
    """The next trial's question where the oracle may make it while the candidate is busy with this one: on a CPU, where two fit into memory, and not
    beside the first, whose first call is timed."""
    if session.bench.cuda or index == 0 or index + 1 >= len(plan):
        return None
    if trials.last["input_bytes"] + trials.last["output_bytes"] > _MOST_AHEAD_BYTES:
        return None
    distribution, layout, jittered = plan[index + 1]
    return session.question(_dims(session, index + 1, jittered), "trial", index + 1, distribution=distribution, layout=layout)


def _one_trial(
    session: Session, trials: Trials, question: dict[str, Any], nominal: bool, where: str, coming: dict[str, Any] | None
) -> None:  # fmt: skip
    """Raises Refused when the candidate does not pass. `coming` is made meanwhile."""
    oracle, candidate = session.oracle, session.candidate
    assert oracle is not None and candidate is not None
    trial = session.ask(oracle, {"do": "trial", "question": question, "truth": True})
    if nominal:
        trials.last = trial
    if trial["unfit"]:
        if nominal:
            raise Refused("invalid_reference", f"with ordinary inputs {trial['unfit']}", "correctness")
        trials.left_out.append(f"{question['distribution']}: {trial['unfit']}")
        return
    copied = construct(session, candidate, trial, question, "load")
    shown = len(trials.errors)
    try:
        _run_once(session, trials, question, trial, nominal, where, coming)
    except Refused as refused:
        if not (nominal and copied and session.copies and refused.outcome in ("wrong_values", "nonfinite")):
            raise
        # weights of the reference's names and shapes that mean something else, scaled or transposed: as they were made under its seed
        session.copies, beside = False, trials.errors[shown:]
        del trials.errors[shown:]
        construct(session, candidate, trial, question, "load")
        try:
            _run_once(session, trials, question, trial, nominal, where, coming)
        except Refused:
            trials.errors[shown:] = beside
            raise refused from None


def _run_once(
    session: Session, trials: Trials, question: dict[str, Any], trial: dict[str, Any], nominal: bool, where: str, coming: dict[str, Any] | None
) -> None:  # fmt: skip
    oracle, candidate, stage = session.oracle, session.candidate, "correctness"
    assert oracle is not None and candidate is not None
    ahead = session.between.run(lambda: session.ask(oracle, {"do": "trial_ahead", "question": coming})) if coming else None
    try:
        session.ask_candidate(candidate, {"do": "take", "inbox": trial["inbox"], "sets": [trial["set"]]}, "load")
        run = {"do": "run", "outbox": trial["outbox"], "forward_seed": question["forward_seed"]}
        if not trials.passed:
            session.progress(f"waiting for the first call, up to {session.request.first_call_s:g} s")
        ran = session.ask_candidate(candidate, run, stage, None if trials.passed else session.request.first_call_s)
    finally:
        if ahead is not None:
            ahead.result()
    first = ran.get("first_call_s")
    if trials.first_call_s is None and isinstance(first, float) and 0 < first < 1e6:
        trials.first_call_s = first
    mutated, views, shared = (told(ran, name) for name in ("mutated", "aliases_input", "shared_output"))
    session.check(stage, "mutation", mutated, where=where)
    session.check(stage, "aliasing", views, shared, trial["aliases"], where=where)
    trials.aliases.update(trial["aliases"])
    session.check(stage, "flags", ran.get("flags"), where=where)
    session.remarks.update(dict.fromkeys(remarks(ran.get("flags"))))
    trees = ran.get("trees")
    check_form(session, trees, stage, where)
    # every figure of the first trial; of the others those that people read only where the rest does not pass at first sight
    judged = session.ask(oracle, {"do": "judge", "trees": trees, "floor": trials.floor, "figures": nominal, "blind": trials.blind})
    trials.blind = judged["blind"]
    before = trials.judged
    settle(session, judged, trials, question["distribution"], stage, where)
    trials.kinds |= {question["distribution"]} if trials.judged > before else set()


def check_form(session: Session, trees: Any, stage: Any, where: str) -> None:
    """Packed results as they arrived: there, of plain tensors, and not larger than was expected."""
    if not isinstance(trees, list) or not trees:
        raise Refused("runtime_error", OUT_OF_FORM, stage)
    for tree in trees:
        session.check(stage, "exact_type", _find(tree, "alien"), where=where)
        other, large = _find(tree, "other"), _find(tree, "large")
        if other is not None:
            raise Refused("wrong_dtype", f"{where}an output is a {other}; expected plain tensors", stage, "structure")
        if large is not None:
            raise Refused("wrong_shape", f"{where}an output is {large}: larger than everything that was expected", stage, "structure")


def construct(session: Session, child: Any, trial: dict[str, Any], question: dict[str, Any], stage: str) -> bool:
    """A fresh model in a candidate's child; whether it says that weights of its own were overwritten with the reference's."""
    message = {
        "do": "construct", "precision": session.request.precision, "gradient": session.gradient, "inbox": trial["inbox"],
        "init_args": trial["init_args"], "state": trial["state"], "init_seed": question["init_seed"],
        "output_specs": trial["output_specs"], "parameter_names": trial["parameter_names"] if session.gradient else [],
        "copies": session.copies,
    }  # fmt: skip
    return session.ask_candidate(child, message, stage).get("copied") is True


def settle(session: Session, judged: dict[str, Any], trials: Trials, what: str, stage: Any, where: str) -> None:
    """Judge the oracle's figures for one set of results; count them when they decide something. Raises Refused."""
    session.check(stage, "structure", judged["structure"], where=where)
    outputs = [OutputErrors.model_validate(item) for item in judged["outputs"]]
    reasons = {errors.output: unfit(errors) for errors in outputs}
    trials.left_out += [f"{what}: {reason}" for reason in reasons.values() if reason]
    # an output that is ill-conditioned here decides nothing; the others still do
    outputs = [errors for errors in outputs if reasons[errors.output] is None]
    if reasons and not outputs:
        return
    trials.errors += outputs  # first: what does not pass is shown, too
    for errors in outputs:
        session.check(stage, "truth", errors, trials.floor, where=where)
        if errors.repeat is not None:
            session.check(stage, "repeat", errors, trials.floor, where=where)
    trials.judged += 1
    trials.passed += 1


def told(reply: dict[str, Any], name: str, stage: Stage = "correctness") -> list[Any]:
    """A list in a candidate's answer. Refused when it is anything else."""
    value = reply.get(name, [])
    if not isinstance(value, list):
        raise Refused("runtime_error", OUT_OF_FORM, stage)
    return value


def _find(tree: Any, tag: str) -> str | None:
    """The first node of this kind in a packed tree, as text of at most 200 characters."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or len(node) != 1:
            continue  # malformed: the oracle will say so
        ((kind, value),) = node.items()
        if kind == tag:
            return str(value)[:200]
        if kind in ("l", "u") and isinstance(value, list):
            waiting += reversed(value)
        elif kind == "d" and isinstance(value, dict):
            waiting += reversed(value.values())
    return None


def _verdict(
    trials: Trials, outcome: Outcome, reason: str | None, stage: Any, session: Session, violations: tuple[Violation, ...] = ()
) -> Verdict:
    last = trials.last
    return Verdict(
        outcome=outcome,
        reason=reason,
        stage=stage,
        trials_passed=trials.passed,
        trials=trials.judged + (outcome not in ("correct", "invalid_reference")),
        trials_left_out=tuple(text[:300] for text in trials.left_out),
        precision=worst(trials.errors, trials.floor),
        truth_dtype=last.get("truth_dtype"),
        truth_reason=last.get("truth_reason"),
        violations=violations,
        notes=(*trials.notes, *session.remarks),
        defences_passed=tuple(session.passed),
    )


def hold_results(session: Session, trials: Trials, taken: Taken, questions: list[dict[str, Any]], trees: Any) -> None:
    """Results of timed calls, copied as they are now while their process is stopped: to be judged when nothing is timed."""
    assert session.oracle is not None
    check_form(session, trees, "timing", TIMED)
    if len(trees) != len(questions):
        raise Refused("runtime_error", OUT_OF_FORM, "timing")
    session.ask(session.oracle, {"do": "hold", "questions": questions, "trees": trees})
    taken.held += len(questions)
    if taken.held * trials.last["output_bytes"] > HELD_BYTES["cuda" if session.bench.cuda else "cpu"]:
        judge_held(session, trials, taken)


def judge_held(session: Session, trials: Trials, taken: Taken) -> None:
    """Judge what is held; Refused when one is wrong."""
    if not taken.held:
        return
    taken.held, oracle = 0, session.oracle
    assert oracle is not None
    message = {"do": "judge_held", "floor": trials.floor}
    for position, item in enumerate(session.ask(oracle, {**message, "at": None, "conditioning": False})["judged"]):
        if item["unfit"]:
            continue
        probe = Trials(trials.floor)
        try:
            settle(session, item, probe, "timed", "timing", TIMED)
        except Refused as refused:
            if refused.outcome not in ("wrong_values", "nonfinite"):
                raise
            # without the (costly) reference and conditioning the bound is the stricter one: ask again with them before judging
            again = session.ask(oracle, {**message, "at": [position], "conditioning": True})["judged"][0]
            if not again["unfit"]:
                settle(session, again, probe, "timed", "timing", TIMED)
        taken.judged += probe.judged
    session.ask(oracle, {"do": "let_go"})
    session.passed["timed_outputs"] = None
