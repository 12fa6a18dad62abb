"""How fast is it? Launches of the reference and the candidate taking turns, controls, the parent's own clock. Runs in the parent."""

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from popcorn.measure.steadiness import Watch
from popcorn.measure.timing import SHORT_S, WINDOW_S
from popcorn.measure.turns import Plan, Turns, take_turns
from popcorn.schema.measurement import Control, Timing
from popcorn.worker.judging import OUT_OF_FORM, Trials, construct, find_strange, settle, shown, told
from popcorn.worker.nursery import Child
from popcorn.worker.session import Refused, Session
from popcorn.worker.taken import BASELINE, CANDIDATE, COMPILED, CONTROL, PLANT, PLANTED, Pace, Taken, control_of, timing_of

JUDGED_SHARE = 0.1
WARM_S = {"cpu": 0.05, "cuda": 0.2}
_CLOCK_SLACK = 1.3
_MAX_PER_WINDOW = 128
_MEMORY = {"cpu": 512 << 20, "cuda": 8 << 30}


class Launch:
    """One fresh launch of every side, as turns.take_turns wants it."""

    def __init__(self, session: Session, trials: Trials, taken: Taken, pace: Pace, index: int, sides: list[str]):
        self.session, self.trials, self.taken, self.pace, self.index = session, trials, taken, pace, index
        self.children: dict[str, Child] = {}
        self.block = 0
        self.questions: list[dict[str, Any]] = []
        self.sets: dict[str, Any] = {}
        self.cold: dict[str, list[float]] = {}
        question = session.question(session.opened["nominal"], "launch", index)
        trial = session.ask(_oracle(session), {"do": "trial", "question": question, "truth": False, "conditioning": False})
        started = [side for side in sides if side != PLANTED]
        with ThreadPoolExecutor(len(started)) as pool:
            children = [pool.submit(self._start, side, trial, question) for side in started]
            wait(children)
        for side, child in zip(started, children, strict=True):
            self.children[side] = child.result()
        if PLANTED in sides:
            self.children[PLANTED] = self.children[CONTROL]
        for side in started:
            self._warm(side, self.children[side])
        if pace.once_s:
            # one block of each side that does not count: the allocator and the caches find their steady state
            self.prepare(-1)
            for side in started:
                self._run_block(side)

    def _start(self, side: str, trial: dict[str, Any], question: dict[str, Any]) -> Child:
        session = self.session
        if side == CANDIDATE:
            child = session.start_candidate("load")
            construct(session, child, trial, question, "load")
            ask = self._ask_candidate
        else:
            child = session.start_reference(compile=side == COMPILED)
            construct_reference(session, child, trial, question)
            ask = session.ask
        ask(child, {"do": "take", "inbox": trial["inbox"], "sets": [trial["set"]]})
        ask(child, {"do": "first", "forward_seed": question["forward_seed"]})
        ask(child, {"do": "short", "short": self.pace.short})
        return child

    def _warm(self, side: str, child: Child) -> None:
        """At least 200 ms of calls (a CPU's clock is up already: 50 ms) before the first block, one side at a time."""
        ask = self._ask_candidate if side == CANDIDATE else self.session.ask
        self.taken.warm.setdefault(side, []).append(
            _warm_times(ask(child, {"do": "warm", "seconds": WARM_S["cuda" if self.session.bench.cuda else "cpu"]}), side)
        )

    def prepare(self, block: int) -> None:
        self.block = block
        session = self.session
        nominal = session.opened["nominal"]
        self.questions = [session.question(nominal, "launch", self.index, block, call) for call in range(self.pace.calls)]
        self.sets = session.ask(_oracle(session), {"do": "contents", "questions": self.questions})

    def _run_block(self, side: str) -> tuple[dict[str, Any], float]:
        """The child's answer to one block, and the parent's time around it."""
        child = self.children[side]
        ask = self._ask_candidate if side == CANDIDATE else self.session.ask
        ask(child, {"do": "take", **self.sets})
        message = {"do": "block", "per_window": self.pace.per_window, "forward_seed": self.questions[0]["forward_seed"]}
        if side == PLANTED:
            message["planted_s"] = (self.taken.plant - 1) * self.pace.once_s
        began = time.monotonic()
        reply = ask(child, message)
        return reply, time.monotonic() - began

    def time_block(self, side: str) -> list[float]:
        reply, wall_s = self._run_block(side)
        samples = _checked_samples(reply.get("samples_s"), self.pace, side)
        self.cold.setdefault(side, []).extend(samples)
        if side == CANDIDATE:
            self._check_block(reply, samples, wall_s)
        return samples

    def _check_block(self, reply: dict[str, Any], samples: list[float], wall_s: float) -> None:
        """A block cannot have taken less of the parent's time than it claims; its outputs are judged, at least one in ten."""
        claimed_s = sum(samples) * self.pace.per_window
        if claimed_s > wall_s * 1.05 + 1e-3:
            raise Refused("cheated", f"clock: the block took {wall_s:.6f} s by the parent's clock and claims {claimed_s:.6f} s", "timing")
        aliens = told(reply, "aliens", "timing")
        if aliens:
            raise Refused("cheated", f"exact_type: a timed output is a {shown(aliens[0])}, not a plain torch.Tensor", "timing")
        self.taken.timed_calls += self.pace.calls
        count = max(1, math.ceil(JUDGED_SHARE * self.pace.calls))
        generator = np.random.default_rng(self.session.question({}, "judged", self.index, self.block)["seed"])
        self.judge_kept([int(i) for i in generator.choice(self.pace.calls, size=count, replace=False)])

    def judge_kept(self, indices: list[int]) -> None:
        """Judge the results of some calls of the block just timed."""
        session = self.session
        room = session.ask(_oracle(session), {"do": "room", "bytes": len(indices) * (2 * self.trials.last["output_bytes"] + 4096)})
        given = self._ask_candidate(self.children[CANDIDATE], {"do": "give", "indices": indices, **room})
        judge_results(session, self.trials, self.taken, [self.questions[i] for i in indices], given.get("trees"))

    def check_clock(self) -> None:
        """The parent times two batches of different length itself: their difference over the calls is a time nobody else made.

        It is held against the cold time, the one that is recorded: a batch goes round the input sets of a block, so its calls find their
        inputs in memory and not in the cache. On a GPU a call cannot be issued faster than the host issues it.
        """
        session, child = self.session, self.children[CANDIDATE]
        claimed_s = self._recorded_s(CANDIDATE)
        best = math.inf
        for _ in range(3):
            per_call = self._lump(child, claimed_s)
            best = min(best, per_call)
            if best <= claimed_s * _CLOCK_SLACK + 2e-6:
                break
        self.taken.parent_s = min(best, self.taken.parent_s or best)
        if best > claimed_s * _CLOCK_SLACK + 2e-6:
            session.progress("the clocks disagree: asking the reference's side too")
            own_s = self._recorded_s(BASELINE)
            lumps = min(self._lump(self.children[BASELINE], own_s, trusted=True) for _ in range(3))
            if best / claimed_s > _CLOCK_SLACK * max(1.0, lumps / own_s):
                text = f"clock: {best:.3g} s a call by the parent's clock, {claimed_s:.3g} s by the candidate's process"
                raise Refused("cheated", text, "timing")

    def _recorded_s(self, side: str) -> float:
        """The side's own word: median of its cold samples so far; on a GPU at least the host's time to issue a call."""
        cold_s = float(np.median(self.cold[side]))
        return max(cold_s, self.taken.warm[side][-1]["host_s"]) if self.session.bench.cuda else cold_s

    def _lump(self, child: Child, once_s: float, trusted: bool = False) -> float:
        ask = self.session.ask if trusted else self._ask_candidate
        room = self.session.ask(_oracle(self.session), {"do": "room", "bytes": 2 * self.trials.last["output_bytes"] + 4096})
        few, many = 1, 1 + max(2, min(2000, math.ceil(0.05 / max(once_s, 1e-6))))
        walls = {}
        for count in (few, many):
            began = time.monotonic()
            reply = ask(child, {"do": "lump", "count": count, "forward_seed": self.questions[0]["forward_seed"], **room})
            walls[count] = time.monotonic() - began
            if not trusted:
                judge_results(
                    self.session, self.trials, self.taken, [self.questions[(count - 1) % len(self.questions)]], [reply.get("tree")]
                )
        return max(0.0, walls[many] - walls[few]) / (many - few)

    def _ask_candidate(self, child: Child, message: dict[str, Any]) -> dict[str, Any]:
        return self.session.ask_candidate(child, message, "timing")

    def close(self) -> None:
        for child in {id(child): child for child in self.children.values()}.values():
            self.session.end(child)


def construct_reference(session: Session, child: Child, trial: dict[str, Any], question: dict[str, Any]) -> None:
    """The reference's model in a child of its own."""
    message = {
        "do": "construct", "precision": session.request.precision, "gradient": session.gradient, "inbox": trial["inbox"],
        "init_args": trial["init_args"], "init_seed": question["init_seed"],
    }  # fmt: skip
    session.ask(child, message)


def judge_results(session: Session, trials: Trials, taken: Taken, questions: list[dict[str, Any]], trees: Any) -> None:
    """Judge results of timed calls; Refused when one is wrong."""
    if not isinstance(trees, list) or len(trees) != len(questions):
        raise Refused("runtime_error", OUT_OF_FORM, "timing")
    for tree in trees:
        strange = find_strange(tree)
        if strange is not None:
            raise Refused(strange.outcome, strange.reason, "timing")
    message = {"do": "judge_timed", "questions": questions, "trees": trees, "floor": trials.floor}
    judged = session.ask(_oracle(session), {**message, "conditioning": False})["judged"]
    for position, item in enumerate(judged):
        if item["unfit"]:
            continue
        probe = Trials(trials.floor)
        failure = settle(item, probe, "timed")
        if failure is not None and failure.outcome == "wrong_values":
            # without the (costly) conditioning figure the bound is the stricter one: ask again with it before judging
            single = {**message, "questions": [questions[position]], "trees": [trees[position]], "conditioning": True}
            failure = settle(session.ask(_oracle(session), single)["judged"][0], probe, "timed")
        if failure is not None:
            raise Refused(failure.outcome, f"the output of a timed call is wrong: {failure.reason}", "timing")
        taken.judged += 1


def time_candidate(session: Session, trials: Trials) -> tuple[Timing, Taken]:
    """The whole comparison. Raises Refused when the candidate fails or cheats on the way."""
    sides = [BASELINE, CANDIDATE, *([CONTROL, PLANTED] if session.request.control else [])]
    turns, taken, pace = _compare(session, trials, sides)
    return timing_of(session, turns, taken, trials.first_call_s, pace, CANDIDATE), taken


def time_compiled(session: Session, trials: Trials) -> Timing:
    """The reference under torch.compile against eager, in the same design, after its output has been judged. Refused when it is wrong."""
    question = session.question(session.opened["nominal"], "trial", "compiled")
    trial = session.ask(_oracle(session), {"do": "trial", "question": question, "truth": True, "conditioning": True})
    child = session.start_reference(compile=True)
    construct_reference(session, child, trial, question)
    session.ask(child, {"do": "take", "inbox": trial["inbox"], "sets": [trial["set"]]})
    ran = session.ask(child, {"do": "run", "outbox": trial["outbox"], "forward_seed": question["forward_seed"]})
    judged = session.ask(_oracle(session), {"do": "judge", "trees": ran["trees"], "floor": trials.floor})
    session.end(child)
    failure = settle(judged, Trials(trials.floor), "compiled")
    if failure is not None:
        raise Refused(failure.outcome, f"torch.compile's own result does not pass: {failure.reason}", "correctness")
    turns, taken, pace = _compare(session, trials, [BASELINE, COMPILED])
    return timing_of(session, turns, taken, ran.get("first_call_s"), pace, COMPILED)


def time_controls(session: Session, trials: Trials, plant: float = PLANT) -> Control:
    """The reference against itself and against itself slowed by `plant`, alone: what this machine's clock can tell apart now."""
    turns, taken, _ = _compare(session, trials, [BASELINE, CONTROL, PLANTED], plant)
    return control_of(turns, taken.steadiness, plant)


def _compare(session: Session, trials: Trials, sides: list[str], plant: float = PLANT) -> tuple[Turns, Taken, Pace]:
    """Rounds of fresh launches of these sides; the first two are the ones compared."""
    taken = Taken()
    pace = _find_pace(session, trials, taken, sides[:2])
    taken.warm.clear()
    plan = _plan(session, pace, len(sides))
    taken.blocks, taken.plant = plan.blocks, plant

    @contextmanager
    def open_round(index: int) -> Iterator[Launch]:
        order = sides if index % 2 == 0 else [*reversed(sides[:2]), *sides[2:]]
        launch = Launch(session, trials, taken, pace, index, order)
        try:
            yield launch
            if CANDIDATE in sides:
                launch.check_clock()  # in every launch: a candidate may know by a file of its own which one it is in
        finally:
            launch.close()

    watch = Watch(session.bench.machine)
    turns = take_turns(open_round, sides, (sides[0], sides[1]), plan, progress=session.progress)
    taken.steadiness = watch.check()
    return turns, taken, pace


def _find_pace(session: Session, trials: Trials, taken: Taken, sides: list[str]) -> Pace:
    """A first launch of both sides, thrown away, to see how long a call takes."""
    Launch(session, trials, taken, Pace(1, 1, 0.0, False), 10_000, sides).close()
    slow = max(taken.warm[side][0]["time_s"] for side in sides)
    fast = min(taken.warm[side][0]["time_s"] for side in sides)
    cuda = session.bench.cuda
    per_window = 1 if cuda else max(1, min(_MAX_PER_WINDOW, math.ceil(WINDOW_S / max(fast, 1e-7))))
    windows = 10 if cuda else 2 if fast > 2 * WINDOW_S else 3
    each = trials.last["input_bytes"] + 2 * trials.last["output_bytes"]
    room = _MEMORY["cuda" if cuda else "cpu"]
    while windows > 1 and windows * per_window * each > room:
        windows -= 1
    while per_window > 1 and windows * per_window * each > room:
        per_window //= 2
    baseline = taken.warm[BASELINE][0]["time_s"]
    if slow > 0.25:
        windows = 1
    return Pace(per_window, windows, baseline, cuda and fast < SHORT_S)


def _plan(session: Session, pace: Pace, sides: int) -> Plan:
    """At least 20 blocks of each side in all, fewer only where that would take over twice the budget.

    A fresh launch costs a tenth of a second on a CPU, where processes differ more: five launches there, three on a GPU.
    """
    rounds, blocks = (3, 8) if session.bench.cuda else (5, 4)
    block_s = pace.once_s * pace.calls
    while blocks > 2 and rounds * blocks * sides * block_s > 2 * session.request.budget_s:
        blocks -= 2
    return Plan(min_rounds=rounds, max_rounds=2 * rounds + 2, blocks=blocks, budget_s=session.request.budget_s)


def _checked_samples(samples: Any, pace: Pace, side: str) -> list[float]:
    good = isinstance(samples, list) and 1 <= len(samples) <= pace.windows
    if not good or not all(type(s) in (int, float) and 0 < s < 1e6 for s in samples):
        raise Refused(
            "cheated" if side == CANDIDATE else "harness_error",
            f"clock: the times of a block are not possible: {str(samples)[:200]}",
            "timing",
        )
    return [float(s) for s in samples]


def _warm_times(reply: dict[str, Any], side: str) -> dict[str, float]:
    times: dict[str, Any] = {name: reply.get(name) for name in ("time_s", "host_s")}
    if not all(type(t) in (int, float) and 0 < t < 1e6 for t in times.values()):
        raise Refused(
            "cheated" if side == CANDIDATE else "harness_error", f"clock: warm times are not possible: {str(times)[:200]}", "timing"
        )
    return {name: float(t) for name, t in times.items()}


def _oracle(session: Session) -> Child:
    assert session.oracle is not None
    return session.oracle
