"""One fresh launch of every side: processes that come, get warm, take turns at blocks, and go. Runs in the parent."""

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from popcorn.units import show_time
from popcorn.verify.defences.clock import SLACK
from popcorn.verify.defences.idle import Slowed
from popcorn.worker.batch import kept_bytes, next_questions
from popcorn.worker.census import Census
from popcorn.worker.judging import Trials, construct, hold_results, told
from popcorn.worker.nursery import Child
from popcorn.worker.planning import pace_of
from popcorn.worker.session import Session
from popcorn.worker.taken import (
    BASELINE,
    CANDIDATE,
    COMPILED,
    CONTROL,
    HELD_BYTES,
    JUDGED_SHARE,
    PLANTED,
    Pace,
    Taken,
)  # fmt: skip

WARM_S = {"cpu": 0.02, "cuda": 0.2}
LOOK_S, _HOST_LOOK_S = 0.015, 0.005
_WARM_LOOKS = 8
_MUCH = 0.2
"""Share of a GPU's memory from which on a launch waits for the last one's to be given back before it takes its own."""


_SETTLING = {"cpu": 2, "cuda": 1}
"""Blocks that do not count at the beginning of a launch."""
_ROOM = 2
"""A CPU's heap grows once, before anything lies in it, to so many times what a block and a batch need. glibc 2.36 cannot give a freed aligned block out again for one of
its own size, so new ones lie elsewhere until neighbours have merged; with just enough room some block or other met fresh pages, and took twice as long."""


class Launch:
    """One fresh launch of every side, as turns.take_turns wants it. The first finds the pace of all; on a CPU it does nothing else. Where it is not `timed` nothing has to be warm."""

    def __init__(self, session: Session, trials: Trials, taken: Taken, pace: Pace | None, index: int, sides: list[str], timed: bool = True):
        self.session, self.trials, self.taken, self.index = session, trials, taken, index
        self.pace = pace or Pace(1, 1, 0.0)
        self.children: dict[str, Child] = {}
        self.block = 0
        self.questions: list[dict[str, Any]] = []
        self.sets: dict[str, Any] = {}
        self.cold: dict[str, list[float]] = {}
        self.recorded: dict[str, list[list[float]]] = {}
        """The very lists that `time_block` returned."""
        self.settled_s = 0.0
        self.claimed: dict[str, list[float]] = {}
        """Cold times of blocks that were asked for again, by side."""
        self.host_s: dict[str, float] = {}
        """Seconds that issuing a call takes the host, on a GPU, by side and by its own word."""
        self.helped_s = 0.0
        """Seconds a call of the last batch or row in which the candidate's helpers worked and its first thread did not."""
        self.faults: dict[str, float] = {}
        """Fresh pages that a call met when the parent timed last, by side."""
        self.busy_s: float | None = None
        """The device's time a call by the driver's account of a burst, where that is longer than was claimed and accuses nobody."""
        self.attached: set[tuple[int, str]] = set()
        self.batches_made = 0
        self.looked = False
        """Whether it was asked how much must be read for cold caches."""
        question = session.question(session.opened["nominal"], "launch", index)
        started = [side for side in sides if side != PLANTED]
        with ThreadPoolExecutor(len(started)) as pool:
            opened = [pool.submit(self._open, side) for side in started]
            trial = session.ask(oracle_of(session), {"do": "trial", "question": question, "truth": False})
            self.children = {side: child.result() for side, child in zip(started, opened, strict=True)}
            if self._takes_much(trial):
                session.settle()  # before anybody takes memory: the last launch has given its own back
            with self._drawing(self._ahead(-2) if timed else []):
                list(pool.map(lambda side: self._fill(side, trial, question), started))
        if PLANTED in sides:
            self.children[PLANTED] = self.children[CONTROL]
        session.settle()
        if not timed:
            return
        for number, side in enumerate(started):
            self._warm(side, first=number == 0)
        if pace is None:
            self._find_pace(started[:2])
            if not session.bench.cuda:
                return  # it was there for that alone: a heap that grew late has fresh pages in some block or other, and a call takes twice as long there
        # blocks that do not count: the allocator and the caches find their steady state
        self.prepare(-1)
        for attempt in range(_SETTLING["cuda" if session.bench.cuda else "cpu"]):
            if attempt:
                self._take()
            last = attempt + 1 == _SETTLING["cuda" if session.bench.cuda else "cpu"]
            for side in started:
                reply, _ = self._run_block(side, cold=last and side == BASELINE)  # the one whose time is used
                if side == BASELINE:
                    self.settled_s = float(np.median(reply["samples_s"]))

    def _takes_much(self, trial: dict[str, Any]) -> bool:
        """Whether two launches at once might not fit. A CPU's processes are gone at once."""
        needs = len(self.children) * self.pace.calls * (trial["input_bytes"] + 2 * trial["output_bytes"])
        return not self.session.bench.cuda or needs > _MUCH * (self.session.bench.machine.memory_bytes or 0)

    def _find_pace(self, compared: list[str]) -> None:
        """Sizes of blocks, from a first look at the two sides that are compared."""
        warm = {side: self.taken.warm[side][0]["time_s"] for side in compared}
        cuda = self.session.bench.cuda
        cold = warm if cuda else {side: max(warm[side], cold_s) for side, cold_s in self.look_cold(compared).items()}
        self.pace = pace_of(self.session, self.trials, cold, warm)

    def _open(self, side: str) -> Child:
        """A fresh process of this side, the candidate's text or the reference loaded."""
        session = self.session
        if side == COMPILED:
            return session.start_reference(compile=True)
        if side == CANDIDATE:
            return session.between.take("candidate") or session.start_candidate("load")
        if side == CONTROL and self.index == 0 and session.bench.keeps:
            # one that served nobody, as the candidate's: what age does to a process would show in the control
            return session.start_reference(fresh=True)
        return session.between.take("reference") or session.start_reference()

    def _fill(self, side: str, trial: dict[str, Any], question: dict[str, Any]) -> None:
        """This launch's weights and a first call."""
        session, child = self.session, self.children[side]
        if side == CANDIDATE:
            construct(session, child, trial, question, "load")
        else:
            construct_reference(session, child, trial, question)
        footprint = _ROOM * (self.pace.calls * (trial["input_bytes"] + 3 * trial["output_bytes"]) + kept_bytes(self))
        self._ask(side, child, {"do": "take", "inbox": trial["inbox"], "sets": [trial["set"]], "footprint": footprint})
        first = {"do": "first", "forward_seed": question["forward_seed"]}
        if side == CANDIDATE:
            session.ask_candidate(child, first, "timing", session.request.first_call_s)
        else:
            session.ask(child, first)
        if session.bench.cuda:
            self._ask(side, child, {"do": "timer", "bubble_s": session.bench.bubble_s})

    def _warm(self, side: str, first: bool) -> None:
        """On a GPU 200 ms of calls of the side that comes first, which bring the device's clock up (half of it where it was at work a moment ago),
        and of every side until two looks agree within 1 %; a CPU's clock is up already: 20 ms. One side at a time."""
        cuda = self.session.bench.cuda
        seconds = WARM_S["cuda" if cuda else "cpu"]
        if cuda:
            seconds = (seconds if self.index == 0 else seconds / 2) if first else LOOK_S
        times = self._look(side, seconds)
        for _ in range(_WARM_LOOKS if cuda else 0):
            before, times = times, self._look(side, LOOK_S)
            if abs(times["time_s"] / before["time_s"] - 1) <= 0.01:
                break
        self.taken.warm.setdefault(side, []).append(times)
        if cuda:
            self.host_s[side] = times["host_mean_s"]

    def look_host(self, side: str) -> None:
        """Ask once more how long issuing a call takes: an instrument that keeps records makes it longer, from its first use on."""
        self.host_s[side] = self._look(side, _HOST_LOOK_S)["host_mean_s"]

    def _look(self, side: str, seconds: float) -> dict[str, float]:
        """Warm calls for about that long: the times of one."""
        reply = self._ask(side, self.children[side], {"do": "warm", "seconds": seconds})
        names = ("time_s", "host_s", "host_mean_s")
        return dict(zip(names, checked_samples(self.session, [reply.get(name) for name in names], 3), strict=True))

    def look_cold(self, sides: list[str]) -> dict[str, float]:
        """Seconds of one cold call of each of these, the shorter of two: windows are sized by it, nothing else."""
        shortest_s = dict.fromkeys(sides, math.inf)
        for block in (-11, -12):  # of no block that counts: nobody may know its inputs
            self.prepare(block)
            for side in shortest_s:
                reply, _ = self._run_block(side)
                shortest_s[side] = min(shortest_s[side], *checked_samples(self.session, reply.get("samples_s"), 1))
        return shortest_s

    def prepare(self, block: int) -> None:
        """New contents, and every side's own copies of them. Meanwhile the oracle draws those that come next."""
        session, self.block = self.session, block
        self.questions = self._questions(block)
        keep = [] if session.bench.cuda else self.draw(self.pace.calls, block)
        self.sets = session.ask(oracle_of(session), {"do": "contents", "questions": self.questions, "keep": keep})
        with self._drawing(self._ahead(block)):
            self._take()
        if not session.bench.cuda and block >= 0:
            session.evict()

    @contextmanager
    def _drawing(self, questions: list[dict[str, Any]]) -> Iterator[None]:
        """Meanwhile the oracle draws the inputs of these questions."""
        session, drawn = self.session, None
        if questions:
            drawn = session.between.run(lambda: session.ask(oracle_of(session), {"do": "draw_ahead", "questions": questions}))
        try:
            yield
        finally:
            if drawn is not None:
                drawn.result()

    def _questions(self, block: int) -> list[dict[str, Any]]:
        nominal = self.session.opened["nominal"]
        return [self.session.question(nominal, "launch", self.index, block, call) for call in range(self.pace.calls)]

    def _ahead(self, block: int) -> list[dict[str, Any]]:
        """What is asked after this block, for the oracle alone; nothing on a GPU, which draws at once."""
        if self.session.bench.cuda or not self.pace.once_s:
            return []
        last = block + 1 >= self.taken.blocks
        coming = self._questions(block + 1) if not last else next_questions(self) if CANDIDATE in self.cold else []
        return coming if len(coming) * self.trials.last["input_bytes"] <= HELD_BYTES["cpu"] else []

    def _take(self) -> None:
        """Private copies of the block's contents in every process; what one did with the last ones is gone."""
        children = {id(child): (side, child) for side, child in self.children.items()}
        for side, child in children.values():
            self._ask(side, child, {"do": "take", **self.sets})

    def _run_block(self, side: str, cold: bool = True) -> tuple[dict[str, Any], float]:
        """The child's answer to one block, and the parent's time around it. On a CPU caches need not be cold where nothing counts."""
        child = self.children[side]
        evicted = not self.session.bench.cuda
        if evicted and cold:
            self.session.evict(look=not self.looked)
            self.looked = True
        message = {"do": "block", "evicted": evicted, "per_window": self.pace.per_window, "forward_seed": self.questions[0]["forward_seed"]}
        if side == PLANTED:
            # of the baseline's cold time, as it was just timed in this launch: the planted share must be a share of what is compared
            once_s = float(np.median(self.cold.get(BASELINE) or self.settled_s))
            message["planted_s"] = self.taken.plant_in(once_s, self.session.bench.cuda)
        census = self.census()
        began = time.monotonic()
        reply = self._ask(side, child, message)
        wall_s = time.monotonic() - began
        self.count_processor_time(side, census, wall_s)
        return reply, wall_s

    def census(self) -> Census | None:
        """The candidate's tree as it stands now; None in a launch without a candidate."""
        child = self.children.get(CANDIDATE)
        return Census(child.pid) if child is not None else None

    def count_processor_time(self, side: str, census: Census | None, wall_s: float) -> None:
        """Processor time of the candidate's tree in a block of its own, and in one of anybody else."""
        if census is None or self.session.bench.cuda:
            return
        cpu_s = census.cpu_s()
        own = side == CANDIDATE
        total = self.taken.busy if own else self.taken.idle
        total[0], total[1] = total[0] + cpu_s, total[1] + wall_s
        if own:
            self.session.check("timing", "cores", *total, self.session.bench.threads)
        else:
            self.session.check("timing", "idle", *total)

    def time_block(self, side: str) -> list[float]:
        reply, wall_s = self._run_block(side)
        samples = checked_samples(self.session, reply.get("samples_s"), self.pace.windows)
        self.cold.setdefault(side, []).extend(samples)
        self.recorded.setdefault(side, []).append(samples)
        if side == CANDIDATE:
            self._check_block(reply, samples, wall_s)
        return samples

    def _check_block(self, reply: dict[str, Any], samples: list[float], wall_s: float) -> None:
        """A block cannot have taken less of the parent's time than it claims; its outputs are judged, at least one in ten."""
        session = self.session
        session.check("timing", "clock", (sum(samples) * self.pace.per_window, wall_s))
        session.check("timing", "exact_type", told(reply, "aliens", "timing"))
        session.check("timing", "flags", reply.get("flags"))
        self.taken.timed_calls += self.pace.calls
        # at least one in ten so far; where that leaves a block without any, one of its calls as often as not
        indices = self.draw(self.pace.calls, self.block)
        as_often_as_not = self.draw(2, self.block, "as often as not") == [0]
        if as_often_as_not or self.taken.judged + self.taken.held < JUDGED_SHARE * self.taken.timed_calls:
            self.hold_kept(indices)

    def hold_kept(self, indices: list[int]) -> None:
        """Hold the results of some calls of the block just timed, to be judged."""
        session = self.session
        room = session.ask(oracle_of(session), {"do": "room", "bytes": len(indices) * (2 * self.trials.last["output_bytes"] + 4096)})
        given = self.ask_candidate(self.children[CANDIDATE], {"do": "give", "indices": indices, **room})
        hold_results(session, self.trials, self.taken, [self.questions[i] for i in indices], given.get("trees"))

    def claim(self, side: str) -> float:
        """One more block of what was prepared, by the side's own clock: seconds a call, in the meaning of `recorded_s`. It is not recorded."""
        reply, _ = self._run_block(side)
        cold_s = float(np.median(checked_samples(self.session, reply.get("samples_s"), self.pace.windows)))
        self.claimed.setdefault(side, []).append(cold_s)
        return max(cold_s, self.host_s.get(side, 0.0))

    def stands(self, side: str) -> bool:
        """Whether the device's part of a call is hidden behind the host's, and was the same when it was asked again: a row of such calls is a row of
        the host's times, which say nothing about the device's."""
        cold_s = float(np.median(self.cold[side]))
        return self.host_s.get(side, 0.0) > cold_s and float(np.median(self.claimed[side])) <= SLACK * cold_s

    def lengthen(self, side: str, least_s: float, slack: float = SLACK, why: str = "on this busy machine") -> None:
        """The blocks of this launch, as they were recorded, where they are beyond the slack, to a median of at least `least_s`: what nobody confirmed gains nothing."""
        recorded_s = float(np.median(self.cold[side]))
        factor = least_s / recorded_s
        if factor > slack:  # within it a claim stands, here as in every other check
            for samples in self.recorded.get(side, []):
                samples[:] = [sample * factor for sample in samples]
            self.cold[side] = [sample * factor for sample in self.cold[side]]
            self.taken.lengthened[self.index] = self.taken.lengthened.get(self.index, 1.0) * factor
            text = f"{show_time(recorded_s)} a call were claimed in a launch, and {show_time(least_s)} count, by the parent's clock"
            self.taken.doubts.append(f"{why} the parent's clock cannot confirm a time: {text}")

    def time_alone(self) -> None:
        """A block of the reference after the candidate's process is gone, with whatever it had queued on a GPU: was it slower beside it?"""
        if not self.session.bench.cuda:
            return
        self.session.end(self.children.pop(CANDIDATE))
        self.prepare(self.block + 1)
        reply, _ = self._run_block(BASELINE)
        alone = checked_samples(self.session, reply.get("samples_s"), self.pace.windows)
        self.taken.slowed.append(Slowed(float(np.median(self.cold[BASELINE])), float(np.median(alone)), self.host_s.get(BASELINE, 0.0)))

    def recorded_s(self, side: str) -> float:
        """The side's own word: median of its cold samples so far; on a GPU at least the host's time to issue a call."""
        return max(float(np.median(self.cold[side])), self.host_s.get(side, 0.0))

    def draw(self, calls: int, *labels: object) -> list[int]:
        """Which of some calls are judged: unknown to the candidate, at least one in ten."""
        generator = np.random.default_rng(self.session.question({}, "judged", self.index, *labels)["seed"])
        return [int(i) for i in generator.choice(calls, size=max(1, math.ceil(JUDGED_SHARE * calls)), replace=False)]

    def _ask(self, side: str, child: Child, message: dict[str, Any]) -> dict[str, Any]:
        return self.ask_candidate(child, message) if side == CANDIDATE else self.session.ask(child, message)

    def ask_candidate(self, child: Child, message: dict[str, Any]) -> dict[str, Any]:
        return self.session.ask_candidate(child, message, "timing")

    def close(self) -> None:
        self.session.let_go(*{id(child): child for child in self.children.values()}.values())


def construct_reference(session: Session, child: Child, trial: dict[str, Any], question: dict[str, Any]) -> None:
    """The reference's model in a child of its own."""
    message = {
        "do": "construct", "precision": session.request.precision, "gradient": session.gradient, "inbox": trial["inbox"],
        "dims": question["dims"], "init_seed": question["init_seed"],
    }  # fmt: skip
    session.ask(child, message)


def checked_samples(session: Session, samples: Any, most: int) -> list[float]:
    """Times as reported, when they are times at all. Raises Refused."""
    session.check("timing", "clock", None, samples, most)
    return [float(s) for s in samples]


def oracle_of(session: Session) -> Child:
    assert session.oracle is not None
    return session.oracle
