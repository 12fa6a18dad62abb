"""How fast is it? Launches of the reference and the candidate taking turns, controls, the parent's own clock. Runs in the parent."""

from collections.abc import Iterator
from contextlib import contextmanager

from popcorn.measure.steadiness import Watch
from popcorn.measure.turns import Samples, Turns, take_turns
from popcorn.schema.measurement import Control, Timing
from popcorn.verify.defences.registry import look
from popcorn.worker.batch import check_batches
from popcorn.worker.disputed import lengthen_all
from popcorn.worker.judging import Trials, judge_held, settle
from popcorn.worker.launch import Launch, construct_reference, oracle_of
from popcorn.worker.planning import plan_of
from popcorn.worker.refused import Refused
from popcorn.worker.row import check_row
from popcorn.worker.session import Session
from popcorn.worker.taken import (
    BASELINE,
    CANDIDATE,
    COMPILED,
    CONTROL,
    PLANT,
    PLANTED,
    Pace,
    Taken,
    control_of,
    timing_of,
)  # fmt: skip


def time_candidate(session: Session, trials: Trials) -> tuple[Timing, Taken]:
    """The whole comparison. Raises Refused when the candidate fails or cheats on the way."""
    if session.candidate is not None:
        session.let_go(session.candidate)  # the process of the trials: every launch has its own
        session.candidate = None
    sides = [BASELINE, CANDIDATE, *([CONTROL, PLANTED] if session.request.control else [])]
    turns, taken, pace = _compare(session, trials, sides)
    return timing_of(session, turns, taken, trials.first_call_s, pace, CANDIDATE), taken


def time_compiled(session: Session, trials: Trials) -> Timing:
    """The reference under torch.compile against eager, in the same design, after its output has been judged. Refused when it is wrong."""
    question = session.question(session.opened["nominal"], "trial", "compiled")
    trial = session.ask(oracle_of(session), {"do": "trial", "question": question, "truth": True})
    child = session.start_reference(compile=True)
    construct_reference(session, child, trial, question)
    session.ask(child, {"do": "take", "inbox": trial["inbox"], "sets": [trial["set"]]})
    ran = session.ask(child, {"do": "run", "outbox": trial["outbox"], "forward_seed": question["forward_seed"]})
    judged = session.ask(oracle_of(session), {"do": "judge", "trees": ran["trees"], "floor": trials.floor})
    session.end(child)
    settle(session, judged, Trials(trials.floor), "compiled", "correctness", "torch.compile's own result does not pass: ")
    # remembered for every later candidate, so it says as well what this machine's clock could tell apart then
    turns, taken, pace = _compare(session, trials, [BASELINE, COMPILED, *([CONTROL, PLANTED] if session.request.control else [])])
    return timing_of(session, turns, taken, ran.get("first_call_s"), pace, COMPILED)


def time_controls(session: Session, trials: Trials, plant: float = PLANT) -> Control:
    """The reference against itself and against itself slowed by `plant`, alone: what this machine's clock can tell apart now."""
    turns, taken, _ = _compare(session, trials, [BASELINE, CONTROL, PLANTED], plant)
    return control_of(turns, taken.steadiness, taken.planted_factor())


def _compare(session: Session, trials: Trials, sides: list[str], plant: float = PLANT) -> tuple[Turns, Taken, Pace]:
    """Rounds of fresh launches of these sides; the first two are the ones compared."""
    taken = Taken()
    cuda = session.bench.cuda
    first = Launch(session, trials, taken, None, *((0, sides) if cuda else (10_000, sides[:2])))
    pace = first.pace
    if not cuda:
        first.close()
        taken.warm.clear()
    plan = plan_of(session, pace, len(sides))
    taken.blocks, taken.plant = plan.blocks, plant

    @contextmanager
    def open_round(index: int) -> Iterator[Launch]:
        order = sides if index % 2 == 0 else [*reversed(sides[:2]), *sides[2:]]
        launch = first if cuda and index == 0 else Launch(session, trials, taken, pace, index, order)
        try:
            yield launch
            if CANDIDATE in sides:
                check_row(launch)
                check_batches(launch)  # in every launch: a candidate may know by a file of its own which one it is in
                launch.time_alone()
            # nothing is timed any more: the next launch's processes come while this one's go
            more = index + 1 < plan.min_rounds
            references = 0 if session.between.waits("reference") else 1 + (more and CONTROL in sides)
            session.bring(candidates=int(CANDIDATE in sides), references=references)
        except Refused:
            judge_held(session, trials, taken)  # what came first is said first
            raise
        finally:
            launch.close()
        judge_held(session, trials, taken)

    watch = Watch(session.bench.machine, *session.processes())
    # on a CPU nobody's block follows one of its own process within a turn, as the processor would still know its pages: the two that share one come first and last
    order = sides if cuda or CONTROL not in sides else [CONTROL, *(side for side in sides if side != CONTROL)]
    turns = take_turns(open_round, order, (sides[0], sides[1]), plan, progress=session.progress)
    lengthen_all(turns.samples.get(CANDIDATE, []), taken)
    taken.steadiness = watch.check(*session.processes())
    if taken.slowed:
        session.check("timing", "idle", taken.slowed, find="find_slowed")
        if (doubt := look("idle", taken.slowed, certain=False, find="find_slowed")) is not None:
            shorten_references(turns.samples, taken)
            taken.doubts.append(f"{doubt.evidence}, where the host may be the reason; its time without it counts")
    return turns, taken, pace


def shorten_references(samples: dict[str, Samples], taken: Taken) -> None:
    """The reference's times of all launches, as they were taken, to what they are without the candidate: nobody gains by a doubt. Its controls' too,
    which were slowed beside it: what they say is a ratio of both."""
    for side in samples.keys() - {CANDIDATE}:
        for launch, slowed in zip(samples[side], taken.slowed, strict=True):
            for block in launch:
                block[:] = [sample / max(1.0, slowed.beside_s / slowed.alone_s) for sample in block]
