"""Slurm, through submitit: one exclusive, singleton job named popcorn-sweep; a worker a GPU; it drains near the walltime and submits itself again.

Every task is one worker with one GPU. The first coordinates: it prepares each phase's environment, tells the others which phase is on, folds shards, and when
the walltime comes near or the job is asked to stop it drains, merges and queues the next one. Claims belong to one Slurm job, so what a lost node held is free again.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.errors import BadSweep, MissingTool
from popcorn.records.appending import write_whole
from popcorn.sweep.folder import Spec, SweepFolder

JOB_NAME = "popcorn-sweep"
MOST_NODES = 10
MOST_SUBMISSIONS = 40
"""A sweep that resubmits itself more often does not get ahead."""
POLL_S = 2.0


class Task:
    """What each Slurm task runs; submitit pickles it. `work` is the agents' worker, `open_them` opens a worker's places (None: the real ones)."""

    def __init__(self, folder: str, open_them: Callable[..., Any] | None = None):
        self.folder, self.open_them = folder, open_them

    def __call__(self) -> str:
        """One worker's life; what it returns is its last word."""
        folder = SweepFolder(Path(self.folder))
        spec = folder.spec()
        rank, ranks = int(os.environ.get("SLURM_PROCID", 0)), int(os.environ.get("SLURM_NTASKS", 1))
        epoch = f"slurm-{os.environ.get('SLURM_JOB_ID', 'none')}.{os.environ.get('SLURM_RESTART_COUNT', '0')}"
        os.environ["POPCORN_CACHE_DIR"] = spec.cache
        timer = Walltime(folder, spec)
        signal.signal(signal.SIGUSR2, lambda *_: folder.walltime())
        if spec.matrix.kind == "ops":
            _phases(folder, spec, epoch, rank, ranks)
        else:
            _agents(folder, spec, epoch, rank, ranks, self.open_them)
        if rank == 0:
            timer.cancel()
            return _finish(folder, spec, epoch, ranks, self.open_them)
        return "done"


class Walltime:
    """Drains the sweep `drain_s` before the end of this Slurm job."""

    def __init__(self, folder: SweepFolder, spec: Spec):
        import threading

        left = max(1.0, _ends_at(spec) - time.time() - spec.drain_s)
        self._timer = threading.Timer(left, folder.walltime)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        """Not needed any more."""
        self._timer.cancel()


def _ends_at(spec: Spec) -> float:
    """When Slurm ends this job: as Slurm says, else from the walltime that was asked for."""
    told = os.environ.get("SLURM_JOB_END_TIME")
    return float(told) if told else time.time() + spec.minutes * 60


def _agents(folder: SweepFolder, spec: Spec, epoch: str, rank: int, ranks: int, open_them: Callable[..., Any] | None) -> None:
    from popcorn.sweep.places import open_places
    from popcorn.sweep.working import work

    # one GPU a worker: Slurm shows each task its own
    work(folder, rank, ranks, epoch, open_them or open_places)


def _phases(folder: SweepFolder, spec: Spec, epoch: str, rank: int, ranks: int) -> None:
    from popcorn.sweep.filling import phases_to_do, prepare_phase, run_phase

    for name in phases_to_do(folder, spec):
        told = folder.path / "control" / epoch / f"{name}.json"
        if rank == 0:
            python = None if folder.draining() else prepare_phase(folder, spec, name)
            told.parent.mkdir(parents=True, exist_ok=True)
            write_whole(told, json.dumps({"python": str(python) if python else None}))
        while not told.is_file():
            time.sleep(POLL_S)
        python = json.loads(told.read_text())["python"]
        if python is not None and not folder.draining():
            run_phase(folder, spec, name, Path(python), epoch, rank, ranks)
        (told.parent / f"{name}.{rank}").touch()
        while rank == 0 and sum(1 for _ in told.parent.glob(f"{name}.*")) < ranks + 1 and not folder.draining():
            time.sleep(POLL_S)


def _finish(folder: SweepFolder, spec: Spec, epoch: str, ranks: int, open_them: Callable[..., Any] | None) -> str:
    """The coordinator's end: merge, write tables, and queue the next job where something is left."""
    from popcorn.sweep.showing import sweep_facts
    from popcorn.sweep.submitting import write_run_tables

    until = time.time() + spec.drain_s
    while time.time() < until and any(
        one.get("epoch") == epoch and one.get("state") not in ("ended", "lost") for one in folder.workers() if one["rank"] != 0
    ):
        time.sleep(POLL_S)
    if spec.matrix.kind == "ops":
        from popcorn.sweep.filling import fold

        fold(folder, spec)
    write_run_tables(Path(spec.cache))
    missing = sweep_facts(folder)["missing"]
    walltime = folder.path / "walltime"
    if not missing:
        folder.log("nothing is missing")
        return "done"
    if not walltime.exists():
        folder.log(f"stopped with {missing} missing; `popcorn sweep resume` goes on")
        return "stopped"
    walltime.unlink()
    folder.undrain()
    job = queue(folder, open_them)
    folder.log(f"{missing} missing; queued again as Slurm job {job}")
    return f"queued {job}"


def queue(folder: SweepFolder, open_them: Callable[..., Any] | None = None) -> str:
    """Queue the sweep; the Slurm job's id. Raises MissingTool, BadSweep."""
    try:
        import submitit
    except ImportError:
        raise MissingTool("sweeps on Slurm need submitit: pip install 'popcornbench[slurm]'; on one machine use --local.") from None
    spec = folder.spec()
    if spec.nodes > MOST_NODES:
        raise BadSweep(f"{spec.nodes} nodes are more than the {MOST_NODES} that one sweep may hold; give --nodes 1 to {MOST_NODES}.")
    jobs = folder.path / "slurm.jsonl"
    if jobs.exists() and len(jobs.read_text().splitlines()) >= MOST_SUBMISSIONS:
        raise BadSweep(
            f"{folder.path} was queued {MOST_SUBMISSIONS} times and is not done; look at its log, then remove {jobs.name} to go on."
        )
    logs = folder.path.resolve() / "slurm"
    try:
        executor = submitit.SlurmExecutor(folder=logs, python=_python(spec), max_num_timeout=0)
        executor.update_parameters(
            job_name=JOB_NAME, nodes=spec.nodes, ntasks_per_node=_tasks(spec), exclusive=True, dependency="singleton", time=spec.minutes,
            signal_delay_s=min(spec.drain_s, 30), srun_args=_srun(spec),
            additional_parameters={"gres": f"gpu:{spec.gpus_per_node}", **{name: value for name, value in spec.slurm.items()}},
        )  # fmt: skip
        os.environ.setdefault("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
        job = executor.submit(Task(str(folder.path.resolve()), open_them))
    except (submitit.core.utils.FailedJobError, RuntimeError, OSError) as error:
        said = " ".join(str(error).split())[-300:]
        raise BadSweep(f"Slurm did not take the sweep: {said}; check `sinfo` and `sbatch`, or use --local on one machine.") from None
    with jobs.open("a") as file:
        file.write(json.dumps({"job": job.job_id, "at": time.time()}) + "\n")
    return str(job.job_id)


def _tasks(spec: Spec) -> int:
    """Workers a node."""
    return 1 if spec.matrix.devices > 1 else spec.gpus_per_node


def _srun(spec: Spec) -> list[str]:
    """A GPU a task, or all of a node where jobs need several; in a container: the home mounted, the working folder the same."""
    args = [f"--gpus-per-task={spec.gpus_per_node // _tasks(spec)}"]
    if spec.container_image:
        args += [
            f"--container-image={spec.container_image}",
            "--container-mount-home",
            f"--container-workdir={Path.cwd()}",
            f"--container-mounts={Path.cwd()}",
        ]
    return args


def _python(spec: Spec) -> str | None:
    import sys

    return None if spec.container_image is None else sys.executable
