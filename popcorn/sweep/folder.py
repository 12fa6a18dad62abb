"""A sweep's folder: what was asked, who works on it, who wants it to stop. Everything that workers of one sweep tell one another lies here.

spec.json                 the matrix and how it is carried out; a resume reads it
drain                     exists: take no new job; `now` in it: let go of those under way, too
claims/<epoch>/<job>      a job that a worker of this epoch took; a new submission is a new epoch, so a lost node's claims are void
status/<rank>.json        what a worker is doing, every second or so
walltime                  exists: it drains because the cluster's time is over, and is to be queued again
log.txt                   a line a remarkable thing
"""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from popcorn.devices.host import host_hash
from popcorn.errors import BadSweep
from popcorn.home import cache_folder
from popcorn.records.appending import write_whole
from popcorn.schema.case import Frozen
from popcorn.sweep.matrix import Matrix
from popcorn.worker.census import born

STALE_S = 120.0
"""A worker that wrote nothing for so long is gone."""


class Spec(Frozen):
    """What was submitted."""

    matrix: Matrix
    cache: str
    """Where its records, runs, builds and jobs are kept: the user's cache, or the folder's own."""
    engine: str = "local"
    """local, slurm, ray."""
    gpus: int | None = None
    """Devices of this machine; all when None."""
    nodes: int = 1
    gpus_per_node: int = 8
    ray_address: str | None = None
    minutes: int = 1440
    """Walltime of one Slurm job."""
    drain_s: int = 600
    """Seconds before the walltime at which nothing new begins."""
    container_image: str | None = None
    slurm: dict[str, str | int] = {}
    """More parameters of sbatch: account, qos, partition."""
    asked: str | None = None
    """Fingerprint of the jobs as they were submitted: when it changes, so did Popcorn, a problem's text or a table that the matrix names."""
    fresh_environments: bool = False
    """One environment a backend, rather than this one for all."""


class SweepFolder:
    """One sweep on disk."""

    def __init__(self, path: Path):
        self.path = Path(path)

    # -- what was asked ------------------------------------------------------------------------------------------------------------

    def keep(self, spec: Spec) -> None:
        """Write the spec, whole or not at all."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / "spec.json", spec.model_dump_json(indent=1))

    def spec(self) -> Spec:
        """What was submitted; of a cache that was copied from another place, with that one as the cache. Raises BadSweep."""
        try:
            spec = Spec.model_validate_json((self.path / "spec.json").read_text(encoding="utf-8"))
            home = self.path.resolve().parents[1]
            moved = not Path(spec.cache).is_dir() and (home / "jobs").is_dir()
            return spec.model_copy(update={"cache": str(home)}) if moved else spec
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or "its spec.json cannot be read"
            raise BadSweep(f"{self.path} is no sweep ({said}); give a folder that `popcorn sweep submit` made.") from None

    # -- stopping ------------------------------------------------------------------------------------------------------------------

    def drain(self, now: bool = False) -> None:
        """Ask every worker to stop: after what is under way, or at once."""
        write_whole(self.path / "drain", "now" if now else "drain")

    def draining(self) -> str | None:
        """`drain`, `now`, or None."""
        try:
            return (self.path / "drain").read_text(encoding="utf-8").strip() or "drain"
        except OSError:
            return None

    def walltime(self) -> None:
        """The time that the cluster gives is nearly over: drain, and go on in another job."""
        write_whole(self.path / "walltime", str(time.time()))
        self.log("the walltime comes near")
        self.drain()

    def undrain(self) -> None:
        """It may work again."""
        (self.path / "drain").unlink(missing_ok=True)

    # -- claims --------------------------------------------------------------------------------------------------------------------

    def claim(self, epoch: str, job: str, rank: int) -> bool:
        """True when this worker may do the job: nobody else of this epoch took it. A worker that was restarted keeps its own."""
        folder = self.path / "claims" / epoch
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / job
        try:
            with path.open("x", encoding="ascii") as file:
                file.write(str(rank))
            return True
        except FileExistsError:
            return path.read_text(encoding="ascii") == str(rank)

    def release(self, epoch: str, job: str) -> None:
        """The job failed and may be taken again, by anybody."""
        (self.path / "claims" / epoch / job).unlink(missing_ok=True)

    # -- who does what -------------------------------------------------------------------------------------------------------------

    def report(self, rank: int, **facts: Any) -> None:
        """This worker's status, whole or not at all."""
        (self.path / "status").mkdir(parents=True, exist_ok=True)
        write_whole(
            self.path / "status" / f"{rank}.json",
            json.dumps({"rank": rank, "pid": os.getpid(), "born": born(os.getpid()), "host": host_hash(), "updated": time.time(), **facts}),
        )

    def workers(self) -> list[dict[str, Any]]:
        """Each worker's last word; `lost` where it is gone, or went silent, without an end."""
        found = []
        for path in sorted((self.path / "status").glob("*.json")):
            try:
                one = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if not isinstance(one, dict) or "rank" not in one:
                continue
            if one.get("state") != "ended" and _gone(one):
                one["state"] = "lost"
            found.append(one)
        return sorted(found, key=lambda one: one["rank"])

    def log(self, sentence: str) -> None:
        """One line, with the time. Raises OSError where the folder is gone."""
        with (self.path / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {sentence}\n")


def _gone(worker: dict[str, Any]) -> bool:
    """A worker of this machine is gone when its process is (after kill -9: at once). One of another machine when it was silent for long, by
    either sign: a clock that was set back would else keep a dead worker at work until it has caught up."""
    import psutil

    if worker.get("host") == host_hash():
        try:
            pid = int(worker["pid"])
            another = worker.get("born") is not None and worker["born"] != born(pid)  # after a reboot its number is soon somebody else's
            return bool(another or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
        except (psutil.Error, ValueError, KeyError):
            return True
    return abs(time.time() - float(worker.get("updated", 0))) > STALE_S


def local_sweeps() -> Path:
    """Where sweeps that use the user's own cache have their folders."""
    return cache_folder() / "sweeps"


def cluster_sweeps() -> Path:
    """Where sweeps with a cache of their own lie: a folder that all nodes see."""
    return Path("logs") / "sweeps"


def sweeps() -> list[SweepFolder]:
    """Every sweep that was submitted here, the newest first."""
    found = [path for place in (cluster_sweeps(), local_sweeps()) for path in place.glob("*/spec.json")]
    return [SweepFolder(path.parent) for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)]


def find_sweep(text: str | None = None) -> SweepFolder:
    """By path, by name, or the newest one. Raises BadSweep."""
    places = (cluster_sweeps(), local_sweeps())
    if text is not None:
        for path in (Path(text), *(place / text for place in places)):
            if (path / "spec.json").is_file():
                return SweepFolder(path)
        raise BadSweep(f"there is no sweep {text[:100]!r}; give its folder, or a name under {places[0]} or {places[1]}.")
    found = sweeps()
    if not found:
        raise BadSweep("no sweep was submitted here yet; `popcorn sweep submit sweeps/smoke.toml --local` starts one.")
    return found[0]
