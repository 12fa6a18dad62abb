"""Working: one process's share of a sweep. Here it is all of it; on a cluster it is one worker of many, which take jobs by claims.

A job that ended has its line on disk at once. Ctrl-C or SIGTERM drains: no job begins, those under way end; a second one lets go of these, too, and
their journals go on later. `kill -9` loses what was under way and nothing else.
"""

import asyncio
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn import __version__
from popcorn.agents.place import Place
from popcorn.records.store import Store
from popcorn.schema.run import Run
from popcorn.sweep.done import Done
from popcorn.sweep.folder import Spec, SweepFolder
from popcorn.sweep.jobs import Job
from popcorn.sweep.places import control, open_places
from popcorn.sweep.plan import make_plan
from popcorn.sweep.resting import Resting
from popcorn.units import show_bytes
from popcorn.worker.ranks import gpus

if TYPE_CHECKING:
    from popcorn.agents.recorder import Recorder

Opener = Callable[[str, int | None, Store, Callable[[str], None]], list[Place]]
"""device, GPUs, store, tell → places."""
LEAST_FREE_BYTES = 256 << 20
"""With less room in the cache nothing begins: an answer that was paid for could not be kept."""
COUNT_EVERY_S = 20.0
"""How often the money of all workers is added up, where it has a limit."""
ROUNDS = 50
"""Times the missing jobs are looked for again: each round retries what failed in the one before."""
_ASKED = "popcorn: no job begins any more, those under way end; Ctrl-C once more lets go of them"


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
        self.counts = {"done": 0, "correct": 0, "failed": 0, "refused": 0}
        self._counted: float | None = None
        self.began = time.monotonic()
        self.active: dict[str, dict[str, Any]] = {}
        self.resting = Resting(folder.log)
        self._busy = {id(place): 0 for place in places}
        self._held: dict[str, Place] = {}

    # -- jobs ----------------------------------------------------------------------------------------------------------------------

    def claim(self, job: Job) -> bool:
        """Whether this process may do it, now."""
        if not self.resting.may_begin(job.model):
            return False
        claimed = self.folder.claim(self.epoch, job.id, self.rank)
        if not claimed:
            self.resting.let_go(job.model)
        return claimed

    def take(self, job: Job) -> Place:
        """The place with the fewest agents."""
        place = min(self.places, key=lambda one: self._busy[id(one)])
        self._busy[id(place)] += 1
        self._held[job.id] = place
        return place

    def give_back(self, job: Job) -> None:
        """The job is no longer under way."""
        self._busy[id(self._held.pop(job.id))] -= 1
        self.resting.let_go(job.model)
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
        self.counts["done"] += 1
        self.counts["correct"] += run.outcome == "correct"
        self.count_money()

    def count_money(self) -> None:
        """Drain when the sweep's money is spent: by every worker and every session of it, so that a resume does not begin at nothing."""
        limit = self.matrix.limits.dollars
        if limit is None:
            return
        active = [one for worker in self.folder.workers() for one in worker.get("active", ())]
        spent = self.done.spent(self.matrix.name, {one.get("job") for one in active}).dollars + sum(
            one.get("cost_usd") or 0.0 for one in active
        )
        self._counted = time.monotonic()
        if spent >= limit:
            self.stop("drain", f"{spent:.2f} dollars of {limit:.2f} are spent, with those of runs under way")

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
            self.resting.failed(job.model, reason)

    def refused(self, job: Job, reason: str) -> None:
        """This machine cannot do it: a missing key, too few devices."""
        self.done.add(job.id, "refused", self.matrix.name, problem=job.problem, model=job.model, tier=job.tier, reason=reason[:500])
        self.folder.log(f"{job.problem} {job.model} {job.tier}: left out: {' '.join(reason.split())[:300]}")
        self.counts["refused"] += 1

    # -- stopping and telling ------------------------------------------------------------------------------------------------------

    def stop(self, how: str, why: str) -> None:
        """Drain, or let go."""
        if self.stopping != how and self.stopping != "now":
            self.stopping = how
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
            self.stop("now" if asked == "now" else "drain", "the folder says so")
        free = shutil.disk_usage(self.cache).free
        if free < LEAST_FREE_BYTES:
            self.stop("drain", f"the disk of {self.cache} has {show_bytes(free)} left; make room, then `popcorn sweep resume`")
        if self._counted is not None and time.monotonic() - self._counted > COUNT_EVERY_S:
            self.count_money()
        hours = self.matrix.limits.hours
        if hours is not None and time.monotonic() - self.began > hours * 3600:
            self.stop("drain", f"the {hours:g} hours of this session are over")
        paused = [gate.closed for place in self.places if (gate := getattr(place, "gate", None)) is not None and gate.closed]
        self.tell("draining" if self.stopping else "paused" if paused else "running", paused=paused, resting=self.resting.told())

    def tell(self, state: str, **more: Any) -> None:
        """This worker's status file."""
        lanes = [bench.device_lane.usage for place in self.places if (bench := getattr(place.engine, "bench", None)) is not None]
        self.folder.report(
            self.rank, state=state, epoch=self.epoch, devices=[place.device for place in self.places], began=time.time() - (time.monotonic() - self.began),
            active=list(self.active.values()), device_run_s=sum(lane.run_s for lane in lanes), device_jobs=sum(lane.jobs for lane in lanes),
            asked=sum(getattr(place.engine, "asked", 0) for place in self.places),
            remembered=sum(getattr(place.engine, "remembered", 0) for place in self.places), **self.counts, **more,
        )  # fmt: skip


def work(
    folder: SweepFolder, rank: int = 0, ranks: int = 1, epoch: str = "local", open_them: Opener = open_places, store: Store | None = None
) -> Session:
    """This process's share of the sweep in `folder`, until nothing is missing or somebody says stop. Raises BadSweep, BadAgent."""
    spec = folder.spec()
    store = store or Store(Path(spec.cache) / "records")
    together = spec.matrix.devices > 1  # each job gets every GPU of this machine, so there is one place, and jobs wait for one another
    places = open_them(spec.matrix.device, 1 if together else spec.gpus, store, folder.log)
    for place in places if together else ():
        place.devices = max(place.devices, gpus())
    session = Session(folder, spec, places, store, rank, epoch)
    try:
        session.look()
        session.count_money()
        for place in places if spec.matrix.control and make_plan(spec.matrix, session.done).missing else ():
            fit = control(place, session.cache)
            if fit is not None:
                folder.log(f"{place.device}: its own A/A control says {'fit' if fit else 'unfit; numbers taken now are in doubt'}")
        asyncio.run(_rounds(session, rank, ranks))
    finally:
        for place in places:
            place.engine.close()
        try:
            if folder.path.exists():
                session.tell("ended")
        except OSError as error:
            print(f"worker {rank}: its end cannot be written ({error.strerror})", file=sys.stderr)
    return session


async def _rounds(session: Session, rank: int, ranks: int) -> None:
    from popcorn.sweep.batch import run_batch

    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    assert working is not None
    asked = 0

    def interrupted() -> None:
        nonlocal asked
        asked += 1
        session.stop("drain" if asked == 1 else "now", "a signal")
        if asked == 1:
            print(_ASKED, file=sys.stderr)
        if asked > 1:
            working.cancel()

    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, interrupted)
    loop.add_signal_handler(signal.SIGUSR2, session.folder.walltime)  # as Slurm tells that its time is nearly over
    watching = asyncio.create_task(_watch(session, working))
    try:
        rounds = 0
        while rounds < ROUNDS:
            missing = make_plan(session.matrix, session.done).missing
            missing = [job for job in missing if not claimed_elsewhere(session, job)]
            if not missing or session.stopping:
                return
            if all(session.resting.rests(job.model) for job in missing):
                left_s = session.resting.left_s({job.model for job in missing})
                if left_s is None:
                    return
                await asyncio.sleep(max(0.1, min(left_s, 5.0)))
                continue
            rounds += 1
            start = len(missing) * rank // ranks  # workers begin at different places, so that they seldom meet
            await run_batch(missing[start:] + missing[:start], session)
    except asyncio.CancelledError:
        if session.stopping != "now":
            raise
    finally:
        watching.cancel()


def claimed_elsewhere(session: Session, job: Job) -> bool:
    """True when another worker of this submission has it under way."""
    path = session.folder.path / "claims" / session.epoch / job.id
    try:
        return path.read_text(encoding="ascii") != str(session.rank)
    except OSError:
        return False


async def _watch(session: Session, working: "asyncio.Task[None]", every_s: float = 1.0) -> None:
    while True:
        try:
            session.look()
        except OSError as error:  # the folder cannot be written: nothing that begins now could be kept
            session.stop("drain", f"{session.folder.path} cannot be written ({error.strerror}); make room, then `popcorn sweep resume`")
        if session.stopping == "now":
            working.cancel()
        await asyncio.sleep(every_s)
