"""Jobs of the service: one for each different question, however often it is asked and whoever stops listening."""

import asyncio
import hashlib
import sys
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field

from popcorn.agents.place import Place
from popcorn.errors import BadCandidate, PopcornError
from popcorn.schema.record import Record
from popcorn.service.asked import Evaluation, Question, Result, State, Statistics, find_shipped, rejected, request_of, result_of, said
from popcorn.sweep.resting import Resting

KEPT = 100_000
"""Ended jobs that are remembered; older ones are answered from the store when they are asked again."""


class Full(Exception):
    """Too much waits already."""


@dataclass
class Job:
    """One question."""

    id: str
    problem: str
    unofficial: bool
    ended: threading.Event = field(default_factory=threading.Event)
    result: Result | None = None
    error: str | None = None

    def now(self) -> Evaluation:
        """As it stands."""
        state: State = "waiting" if not self.ended.is_set() else "done" if self.error is None else "failed"
        return Evaluation(id=self.id, state=state, problem=self.problem, result=self.result, error=self.error)


class Jobs:
    """Questions over places: each goes to the place with the least waiting, and identical ones share a job. A device that fails at once is the one with
    the least waiting: after several faults in a row it rests, and the others answer."""

    def __init__(self, places: list[Place], unofficial: list[Place] | None = None, most_waiting: int = 4096):
        self.places, self.unofficial, self.most_waiting = places, unofficial or places, most_waiting
        self.began = time.monotonic()
        self.asked = self.remembered = self.evaluated = 0
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting = {id(place): 0 for place in (*self.places, *self.unofficial)}
        self.health = Resting(
            "faults of the harness", lambda told: print(told, file=sys.stderr, flush=True), later="the next start of the service"
        )
        self._lock = threading.Lock()

    def submit(self, question: Question) -> Job:
        """Its job, new or known; a job that failed by our fault is tried again, a text that cannot be judged has ended. Raises KeyError, Full."""
        problem = find_shipped(question.problem)
        try:
            request = request_of(question, problem)
        except BadCandidate as why:
            return self._reject(question, why)
        identity = request.asked if not question.unofficial else request.asked[:-1] + ("0" if request.asked[-1] != "0" else "1")
        with self._lock:
            self.asked += 1
            job = self._jobs.get(identity)
            if job is not None and job.error is None:
                self.remembered += 1
                return job
            if sum(self._waiting.values()) >= self.most_waiting:
                self.asked -= 1
                raise Full
            job = self._jobs[identity] = Job(identity, question.problem, question.unofficial)
            places = self.unofficial if question.unofficial else self.places
            fit = [one for one in places if not self.health.rests(one.device)]
            place = min(fit or places, key=lambda one: self._waiting[id(one)])
            self.health.begins(place.device, identity)
            self._waiting[id(place)] += 1
            self._trim()
        before = getattr(place.engine, "remembered", 0)
        future = place.engine.submit(request.model_copy(update={"device": place.device}))
        known = future.done() and getattr(place.engine, "remembered", 0) > before
        future.add_done_callback(lambda ended: self._end(job, place, ended, known))
        return job

    def _reject(self, question: Question, why: BadCandidate) -> Job:
        identity = hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        job = Job(identity, question.problem, question.unofficial, result=rejected(why, not question.unofficial))
        job.ended.set()
        with self._lock:
            self.asked += 1
            self._jobs[identity] = job
            self._trim()
        return job

    def find(self, identity: str) -> Job | None:
        """The job of an id."""
        with self._lock:
            return self._jobs.get(identity)

    async def wait(self, job: Job, seconds: float) -> Evaluation:
        """As it stands when it ended, or after so long. Whoever waits may go away; the job does not."""
        until = time.monotonic() + seconds
        pause = 0.005
        while not job.ended.is_set() and time.monotonic() < until:
            await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(pause * 1.5, 0.25)
        return job.now()

    def statistics(self) -> Statistics:
        """Since the start."""
        uptime = max(1e-6, time.monotonic() - self.began)
        with self._lock:
            return Statistics(
                uptime_s=uptime, devices=[place.device for place in self.places], asked=self.asked, remembered=self.remembered,
                cache_hit_rate=self.remembered / self.asked if self.asked else None, evaluations=self.evaluated,
                evaluations_per_hour_per_device=self.evaluated / uptime * 3600 / len(self.places), waiting=sum(self._waiting.values()),
            )  # fmt: skip

    def close(self) -> None:
        """End every engine."""
        for place in {id(place): place for place in (*self.places, *self.unofficial)}.values():
            place.engine.close()

    def _end(self, job: Job, place: Place, ended: "Future[Record]", known: bool) -> None:
        fault: str | None = None
        try:
            record = ended.result()
            job.result = result_of(record, official=not job.unofficial)
            if record.verdict.outcome == "harness_error":
                job.error = "the evaluation failed by a fault of the harness; ask again"
                fault = record.verdict.reason or "no reason was recorded"
        except BaseException as error:
            job.error = said(error) if isinstance(error, Exception) else "the service was stopped"
            fault = None if isinstance(error, PopcornError) or not isinstance(error, Exception) else f"{type(error).__name__}: {error}"
        with self._lock:
            if fault is not None:
                self.health.failed(place.device, job.id, fault)
            elif job.error is None and not known:
                self.health.answered(place.device)
            self.health.let_go(place.device, job.id)
            self._waiting[id(place)] -= 1
            self.remembered += known
            self.evaluated += not known
        job.ended.set()

    def _trim(self) -> None:
        for identity in [name for name, job in list(self._jobs.items())[: max(0, len(self._jobs) - KEPT)] if job.ended.is_set()]:
            del self._jobs[identity]
