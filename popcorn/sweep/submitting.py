"""Submitting a sweep, going on with one, bringing sweeps together: what the commands call."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from popcorn.errors import BadSweep
from popcorn.home import cache_folder
from popcorn.sweep.folder import Spec, SweepFolder, cluster_sweeps, local_sweeps
from popcorn.sweep.jobs import agent_jobs, fingerprint
from popcorn.sweep.matrix import Matrix
from popcorn.sweep.places import open_places
from popcorn.sweep.session import Session
from popcorn.sweep.working import Opener, work


def prepare(matrix: Matrix, folder: Path | None = None, *, own_cache: bool = False, **facts: object) -> SweepFolder:
    """The folder of a sweep, with its spec in it. A sweep of the same name goes on there; its earlier results count by their ids alone."""
    path = folder or (cluster_sweeps() if own_cache else local_sweeps()) / matrix.name
    cache = path.resolve() / "cache" if own_cache else cache_folder()
    found = SweepFolder(path)
    asked = fingerprint(agent_jobs(matrix)) if matrix.kind == "agents" else None
    found.keep(Spec(matrix=matrix, cache=str(cache), asked=asked, **facts))  # type: ignore[arg-type]
    found.undrain()
    return found


def run_here(folder: SweepFolder, open_them: Opener = open_places) -> Session:
    """Work on it in this process until it is done or stopped; tables of the runs are written at the end. Raises BadSweep when somebody already does."""
    lock = os.open(folder.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadSweep(f"another process works on {folder.path}; watch it with `popcorn sweep watch {folder.path}`.") from None
        spec = folder.spec()
        os.environ["POPCORN_CACHE_DIR"] = spec.cache
        epoch = f"{time.time_ns():x}"
        if spec.matrix.kind == "ops":
            from popcorn.sweep.filling import fill_here

            return fill_here(folder, epoch)
        session = work(folder, epoch=epoch, open_them=open_them)
        with undisturbed():
            write_run_tables(Path(spec.cache))
        return session
    finally:
        os.close(lock)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits: what is left takes a second."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            while one in signal.sigpending():
                signal.sigwait({one})  # it was asked to stop, and it has
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def write_run_tables(cache: Path) -> None:
    """runs, turns and calls of a cache as Parquet."""
    from popcorn.agents.tables import write_tables

    runs = cache / "runs" / "agents"
    if runs.is_dir():
        write_tables(runs, runs / "tables")
