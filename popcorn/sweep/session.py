"""Session: one process at work on a sweep: what is under way, what ended, what rests, whether to stop. Imports no torch."""

import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn import __version__
from popcorn.agents.place import Place
from popcorn.records.store import Store
from popcorn.schema.run import Run
from popcorn.sweep.done import Done
from popcorn.sweep.folder import Spec, SweepFolder
from popcorn.sweep.jobs import Job
from popcorn.sweep.locks import Locks
from popcorn.sweep.resting import REFUSED, Resting
from popcorn.units import show_bytes

if TYPE_CHECKING:
    from popcorn.agents.recorder import Recorder

LEAST_FREE_BYTES = 256 << 20
"""With less room in the cache nothing begins: an answer that was paid for could not be kept."""
COUNT_EVERY_S = 20.0
"""How often the money of all workers is added up, where it has a limit."""


class Session:
    """One process at work on a sweep: what is under way, what ended, whether to stop."""

    def __init__(self, folder: SweepFolder, spec: Spec, places: list[Place], store: Store, rank: int = 0, epoch: str = "local"):
        self.folder, self.spec, self.matrix, self.places, self.store = folder, spec, spec.matrix, places, store
        self.rank, self.epoch = rank, epoch
        self.cache = Path(spec.cache)
        self.runs = self.cache / "runs" / "agents"
        self.done = Done(self.cache)
        self.agents = self.matrix.agents_per_gpu * len(places)
        self.stopping: str | None = None
        """`drain` or `now`."""
        self.why: str | None = None
        """Why it stops."""
        self.counts = {"done": 0, "correct": 0, "failed": 0, "refused": 0}
        self._counted: float | None = None
        self.began = time.monotonic()
        self.active: dict[str, dict[str, Any]] = {}
        self.resting = Resting("the provider", folder.log, for_good=REFUSED)
        self.health = Resting("faults of the harness", folder.log)
        self.locks = Locks(self.cache)
        self.begun = 0
        self._busy = {id(place): 0 for place in places}
        self._held: dict[str, Place] = {}

    # -- jobs ----------------------------------------------------------------------------------------------------------------------

    def claim(self, job: Job) -> bool:
        """Whether this process may do it, now."""
        if self.lost() or self.waits(job):
            return False
        claimed = self.folder.claim(self.epoch, job.id, self.rank)
        if claimed and self.locks.take(job.id):
            if not self.done.has(job.id):
                self.begun += 1
                self.resting.begins(job.model, job.id)
                return True
            self.locks.let_go(job.id)
        if claimed:  # another sweep has it under way, or did it since this one made its plan
            self.folder.release(self.epoch, job.id)
        return False

    def waits(self, job: Job) -> bool:
        """Whether its model rests, or every device."""
        return self.resting.rests(job.model) or not self._fit()

    def take(self, job: Job) -> Place:
        """Of the places whose device does not rest the one with the fewest agents: a device that fails at once would else be the idle one, and get the
        next job, too."""
        place = min(self._fit(), key=lambda one: self._busy[id(one)])
        self.health.begins(place.device, job.id)
        self._busy[id(place)] += 1
        self._held[job.id] = place
        return place

    def left_s(self, jobs: Iterable[Job]) -> float | None:
        """Until one of these jobs, which all wait, may be tried; None where they are left to a later session."""
        return (
            self.resting.left_s({job.model for job in jobs}) if self._fit() else self.health.left_s(place.device for place in self.places)
        )

    def _fit(self) -> list[Place]:
        return [place for place in self.places if not self.health.rests(place.device)]

    def give_back(self, job: Job) -> None:
        """The job is no longer under way."""
        place = self._held.pop(job.id)
        self._busy[id(place)] -= 1
        self.resting.let_go(job.model, job.id)
        self.health.let_go(place.device, job.id)
        self.locks.let_go(job.id)
        self.active.pop(job.id, None)

    def observe(self, job: Job, what: str, recorder: "Recorder") -> None:
        """Told of every step of every run."""
        best = recorder.workbench.best
        self.active[job.id] = {
            "job": job.id, "problem": job.problem, "model": job.model, "tier": job.tier, "turn": recorder.spent.turns, "turns": recorder.budget.turns, "now": "".join(one for one in what[:40] if one.isprintable()),
            "best": best.speedup if best else None, "cost_usd": recorder.spent.cost_usd, "since": time.time(), "device": self._held[job.id].device,
        }  # fmt: skip

    def ended(self, job: Job, run: Run) -> None:
        """A result, whatever it says."""
        if self.lost():
            return
        self.done.add(
            job.id, "done", self.matrix.name, run=run.id, problem=job.problem, model=job.model, tier=job.tier, repeat=job.repeat, outcome=run.outcome,
            speedup=run.speedup, ended_by=run.ended_by, wall_s=run.wall_s, tokens=run.tokens.total, cost_usd=run.cost_usd, record=run.record_id,
            harness=__version__,
        )  # fmt: skip
        self.resting.answered(job.model)
        self.health.answered(self._held[job.id].device)
        self.counts["done"] += 1
        self.counts["correct"] += run.outcome == "correct"
        self.count_money()

    def count_money(self) -> None:
        """Drain when the sweep's money is spent: by every worker and every session of it, so that a resume does not begin at nothing."""
        limit = self.matrix.limits.dollars
        if limit is None:
            return
        others = [
            one for one in self.folder.workers() if one["rank"] != self.rank and one.get("state") in ("running", "draining", "paused")
        ]
        active = [*self.active.values(), *(run for one in others for run in one.get("active", ()))]
        under_way = {one["job"]: float(one.get("cost_usd") or 0.0) for one in active if not self.done.has(one["job"])}
        spent = self.done.spent(self.matrix.name, under_way).dollars + sum(under_way.values())
        self._counted = time.monotonic()
        if spent >= limit:
            self.stop(
                "drain",
                f"{spent:.2f} dollars of {limit:.2f} are spent, runs under way included; submit it again with a larger limits.dollars",
            )

    def failed(self, job: Job, kind: Any, reason: str, run: Run | None = None, goes_on: bool = False) -> None:
        """No result: tried again as often as the matrix says. What the attempt cost is counted; what one that goes on cost, with the next one."""
        if self.lost():
            return
        spent = {} if run is None else {"tokens": run.tokens.total, "cost_usd": run.cost_usd, "goes_on": goes_on}
        self.done.add(job.id, kind, self.matrix.name, problem=job.problem, model=job.model, tier=job.tier, reason=reason[:500], **spent)
        self.folder.log(f"{job.problem} {job.model} {job.tier}: {kind}: {' '.join(reason.split())[:300]}")
        self.folder.release(self.epoch, job.id)
        self.counts["failed"] += 1
        if kind == "api_error":
            self.resting.failed(job.model, job.id, reason)
        else:
            self.health.failed(self._held[job.id].device, job.id, reason)

    def refused(self, job: Job, reason: str) -> None:
        """This machine cannot do it: a missing key, too few devices."""
        self.done.add(job.id, "refused", self.matrix.name, problem=job.problem, model=job.model, tier=job.tier, reason=reason[:500])
        self.folder.log(f"{job.problem} {job.model} {job.tier}: left out: {' '.join(reason.split())[:300]}")
        self.counts["refused"] += 1

    # -- stopping and telling ------------------------------------------------------------------------------------------------------

    def stop(self, how: str, why: str) -> None:
        """Drain, or let go."""
        if self.stopping != how and self.stopping != "now":
            self.stopping, self.why = how, why
            sentence = f"worker {self.rank}: {'lets go' if how == 'now' else 'drains'}: {why}"
            try:
                self.folder.log(sentence)
            except OSError:  # a full disk is a reason to stop, too, and so is one that is gone
                print(sentence, file=sys.stderr)
        for place in self.places:
            gate = getattr(place, "gate", None)
            if gate is not None:
                gate.stopping = True

    def lost(self) -> bool:
        """Whether the sweep's folder or its cache is gone: a disk was unmounted, or a folder moved. What was written now would lie in a new one."""
        gone = next((path for path in (self.folder.path / "spec.json", self.cache) if not path.exists()), None)
        if gone is not None:
            self.stop("now", f"{gone} is gone; bring it back, then `popcorn sweep resume`")
        return gone is not None

    def look(self) -> None:
        """At the folder and the clock: does anybody want this to stop? And tell what is under way."""
        if self.lost():
            return
        asked = self.folder.draining()
        if asked is not None:
            self.stop("now" if asked == "now" else "drain", "asked by `popcorn sweep stop`")
        free = shutil.disk_usage(self.cache).free
        if free < LEAST_FREE_BYTES:
            self.stop("drain", f"the disk of {self.cache} has {show_bytes(free)} left; make room, then `popcorn sweep resume`")
        if self._counted is not None and time.monotonic() - self._counted > COUNT_EVERY_S:
            self.count_money()
        hours = self.matrix.limits.hours
        if hours is not None and time.monotonic() - self.began > hours * 3600:
            self.stop("drain", f"the {hours:g} hours of this session are over")
        paused = [gate.closed for place in self.places if (gate := getattr(place, "gate", None)) is not None and gate.closed]
        self.tell(
            "draining" if self.stopping else "paused" if paused else "running",
            paused=paused,
            resting=[*self.resting.told(), *self.health.told()],
        )

    def tell(self, state: str, **more: Any) -> None:
        """This worker's status file."""
        lanes = [bench.device_lane.usage for place in self.places if (bench := getattr(place.engine, "bench", None)) is not None]
        self.folder.report(
            self.rank, state=state, epoch=self.epoch, devices=[place.device for place in self.places], began=time.time() - (time.monotonic() - self.began),
            active=list(self.active.values()), why=self.why, device_run_s=sum(lane.run_s for lane in lanes), device_jobs=sum(lane.jobs for lane in lanes),
            asked=sum(getattr(place.engine, "asked", 0) for place in self.places),
            remembered=sum(getattr(place.engine, "remembered", 0) for place in self.places), **self.counts, **more,
        )  # fmt: skip
