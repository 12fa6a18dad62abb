"""Working: one process's share of a sweep. Here it is all of it; on a cluster it is one worker of many, which take jobs by claims.

A job that ended has its line on disk at once. Ctrl-C or SIGTERM drains: no job begins, those under way end; a second one lets go of these, too, and
their journals go on later. `kill -9` loses what was under way and nothing else.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from popcorn.agents.place import Place
from popcorn.records.store import Store
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.jobs import Job
from popcorn.sweep.places import control, open_places
from popcorn.sweep.plan import make_plan
from popcorn.sweep.session import Session
from popcorn.worker.ranks import gpus

Opener = Callable[[str, int | None, Store, Callable[[str], None]], list[Place]]
"""device, GPUs, store, tell → places."""
ROUNDS = 50
"""Times the missing jobs are looked for again: each round retries what failed in the one before."""
ELSEWHERE_S = 5.0
"""How often it is looked whether another sweep is done with what both have."""
_ASKED = "popcorn: no job begins any more, those under way end; Ctrl-C once more lets go of them"


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
        rounds, waited = 0, False
        while rounds < ROUNDS:
            missing = make_plan(session.matrix, session.done).missing
            missing = [job for job in missing if not claimed_elsewhere(session, job)]
            if not missing or session.stopping:
                return
            if all(session.waits(job) for job in missing):
                left_s = session.left_s(missing)
                if left_s is None:
                    return
                await asyncio.sleep(max(0.1, min(left_s, 5.0)))
                continue
            rounds += 1
            start = len(missing) * rank // ranks  # workers begin at different places, so that they seldom meet
            before = session.begun
            await run_batch(missing[start:] + missing[:start], session)
            if session.begun == before:  # all that is left is under way in another sweep, or rests
                rounds -= 1
                if not waited:
                    session.folder.log(
                        f"worker {rank}: the {len(missing)} jobs that are left are under way in another sweep; it waits for them"
                    )
                waited = True
                await asyncio.sleep(ELSEWHERE_S)
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
