"""Bench: what one device on this machine offers an evaluation: a zygote, a build lane, a device lane, caches, the machine's facts."""

import os
import tempfile
import threading
import weakref
from pathlib import Path

from popcorn.devices.ceilings import Ceilings, load_ceilings, save_ceilings, with_ceilings
from popcorn.devices.host import separate_cores
from popcorn.devices.probe import probe
from popcorn.errors import HarnessFailure
from popcorn.home import cache_folder
from popcorn.schema.machine import Machine
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.triton_cache import private_caches
from popcorn.worker.energies import Energies
from popcorn.worker.kept import Kept, most_kept
from popcorn.worker.lanes import WorkLane
from popcorn.worker.nursery import Child, ChildDied, DeadlinePassed, Nursery
from popcorn.worker.presence import readable
from popcorn.worker.spares import Spares, most_spares
from popcorn.worker.tidying import remove_tree

_SHARED_MEMORY = Path("/dev/shm")
_DEFAULT_CACHE_BYTES = 32 << 20
MOST_PROFILES = 3
"""Processes that wait to be profiled: each has imported torch, half a gigabyte of host memory."""


def sweep(place: Path) -> None:
    """Remove what benches left whose process is gone: kill -9 leaves no time to tidy. Folders are named for their process."""
    for folder in place.glob("popcorn-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and folder.is_dir() and not Path(f"/proc/{owner}").exists():
            remove_tree(folder)


class BenchClosed(Exception):
    """Somebody closed the bench under an evaluation, by Ctrl-C say: no answer, no record, and nothing to try again."""


class Bench:
    """One device, ready. Closing it ends every process and removes every temporary file."""

    def __init__(self, device: str = "auto", build_workers: int | None = None):
        self.machine: Machine = probe(device)
        self.cuda = self.machine.kind == "cuda"
        self.threads = self.machine.threads or max(1, (os.cpu_count() or 1) // 2)
        self.cores = [] if self.cuda else separate_cores(self.threads)
        self.cache = cache_folder()
        self.builds = BuildCache(self.cache / "builds")
        self._nursery = Nursery(self.threads, self.cuda)
        self.keeps = self.cuda and os.environ.get("POPCORN_WARM") != "0"
        """Whether processes wait for the next evaluation, and trusted ones serve more than one: on a CPU a fork costs nothing."""
        self.spares = Spares(self._make_spare, most_spares(self.machine.memory_bytes)) if self.keeps else None
        most = most_kept(self.machine.memory_bytes) if self.keeps else 0
        self.kept = {role: Kept(min(most, count), self._lives) for role, count in (("oracle", 1), ("reference", most))}
        self.energies = Energies()
        self.profiles = threading.BoundedSemaphore(MOST_PROFILES)
        self.bubble_s: float | None = None
        """What events add to a kernel on this GPU, once an oracle has found out."""
        self.build_lane = WorkLane("build", build_workers or max(1, len(os.sched_getaffinity(0)) // 2))
        self.device_lane = WorkLane(
            "device", 1, Path(tempfile.gettempdir()) / f"popcorn-{os.getuid()}-{self.machine.device_uuid or 'cpu'}.lock"
        )
        self.ceilings: Ceilings | None = load_ceilings(self.machine, self.cache / "ceilings")
        parent = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        for place in {parent, Path(tempfile.gettempdir())}:
            sweep(place)
        self.folder = Path(tempfile.mkdtemp(prefix=f"popcorn-{os.getpid()}-", dir=parent))
        self.disk = Path(tempfile.mkdtemp(prefix=f"popcorn-{os.getpid()}-"))
        self.built: set[str] = set()
        """Hashes of the candidates that were built here."""
        self._lock = threading.Lock()
        self._evictor: Child | None = None
        self._count = 0
        self._closed = False
        self._started: weakref.WeakSet[Child] = weakref.WeakSet()
        self.stock()

    @property
    def nursery(self) -> Nursery:
        """Where children come from. One that was killed costs the evaluations under way, which are tried again, and no later one."""
        with self._lock:
            if self._closed:
                raise BenchClosed
            if self._nursery.gone:
                self._nursery.close()
                for kept in self.kept.values():
                    kept.drop()
                if self.spares is not None:
                    self.spares.drop()
                self._evictor = None
                self._nursery = Nursery(self.threads, self.cuda)
            return self._nursery

    @property
    def device(self) -> str:
        """The device as children see it: they are shown this one only."""
        return "cuda:0" if self.cuda else "cpu"

    @property
    def cache_bytes(self) -> int:
        """The cache to evict before a cold call."""
        return self.machine.l2_bytes or _DEFAULT_CACHE_BYTES

    def new_folder(self, name: str) -> Path:
        """A fresh private folder: of tensors in shared memory, of anything else on disk, so that nobody can fill the memory that all share."""
        with self._lock:
            if self._closed:
                raise BenchClosed
            self._count += 1
            folder = (self.folder if name == "shared" else self.disk) / f"{name}-{self._count}"
        folder.mkdir(mode=0o700)
        return folder

    def start(
        self,
        role: str,
        folder: Path,
        shared: Path,
        candidate_hash: str = "",
        memory_bytes: int | None = None,
        may_read: tuple[str, ...] = (),
    ) -> Child:
        """A forked child in a role: `oracle`, `reference`, `implementation` or `candidate`. `shared` holds the in and out buffers."""
        nursery = self.nursery  # a new one where the last was killed, and no spare of the old
        child = self._take_spare() or nursery.fork()
        private = folder / "home"
        private.mkdir(exist_ok=True)
        # what is not trusted never shares a cache with what is
        own = candidate_hash or ("stranger" if role == "stranger" else "trusted")
        caches = private_caches(self.cache / "private", own)
        env = {"TMPDIR": str(private), "HOME": str(private), **caches}
        if role == "implementation":
            env["POPCORN_CACHE_DIR"] = str(self.cache)  # where the user's own implementations are; its home is another one
        env.update(self._device_env())
        introduction = {
            "role": role, "folder": str(folder), "shared": str(shared), "env": env, "threads": self.threads, "cores": self.cores, "device": self.device,
            "cache_bytes": self.cache_bytes, "memory_bytes": memory_bytes, "nvrtc": str(self.cache / "private" / own / "nvrtc"),
            "readable": [str(shared / "in"), str(self.builds.folder), *may_read], "filled": [str(shared / "out")], "writable": [str(self.cache / "private" / own)],
        }  # fmt: skip
        try:
            child.missing = tuple(child.ask(introduction, timeout_s=60)["missing"])
        except (ChildDied, DeadlinePassed) as error:
            child.kill()
            raise HarnessFailure(f"a fresh {role} process did not start: {error}. {error.output[-1500:]}") from None
        child.rests, child.folder = role == "candidate", folder
        self._started.add(child)
        child.readable = child.rests and not self.cuda and readable(child.pid)  # on a GPU results lie in the device's memory
        return child

    def evictor(self) -> Child:
        """A CPU's process that empties caches before a cold block: no side's own, whose interpreter and pages would be warm after it, and one for all evaluations."""
        if self._evictor is None or not self._lives(self._evictor):
            folder = self.new_folder("evictor")
            self._evictor = self.start("reference", folder, folder)
        return self._evictor

    def _lives(self, child: Child) -> bool:
        nursery = self._nursery  # not the property: it drops what is kept where it finds the zygote gone, and whoever keeps asks here
        return not nursery.gone and nursery.wait(child.pid, 0) is None

    def waiting(self) -> tuple[int, ...]:
        """Process ids of all that wait here and do nothing: spares, trusted ones kept from the last evaluation, and those of evaluations that
        wait for the device or a compiler."""
        spares = self.spares.pids() if self.spares is not None else ()
        return (
            *spares,
            *(pid for kept in self.kept.values() for pid in kept.pids()),
            *(child.pid for child in list(self._started) if not child.busy),
        )

    def at_work(self) -> list[Child]:
        """Children that are being asked something now."""
        return [child for child in list(self._started) if child.busy]

    def stock(self, needed: int | None = None) -> None:
        """On a GPU have processes in waiting, in the background; returns at once. Where as many as are `needed` are there, no more are made:
        whoever times has to wait for the one that is under way."""
        if self.spares is None or self._closed:
            return
        if needed is not None and len(self.spares.pids()) >= needed:
            self.spares.rest()
        else:
            self.spares.resume()

    def _take_spare(self) -> Child | None:
        while self.spares is not None and (child := self.spares.take()) is not None:
            if self._lives(child):
                return child
        return None

    def _make_spare(self) -> Child:
        # the driver reads where its own cache is once: no role's may be given to a process that has none. What it compiles there (text that was not
        # built for this device) is compiled again by every process that is fenced
        env = {**self._device_env(), "CUDA_CACHE_PATH": private_caches(self.cache / "private", "spare")["CUDA_CACHE_PATH"]}
        with self.device_lane.between_works() as free:
            if not free:
                raise HarnessFailure("another Popcorn measures on this device")
            child = self.nursery.fork()
            try:
                child.ask({"role": "spare", "env": env, "device": self.device}, timeout_s=60)
            except BaseException:
                child.kill()
                raise
            return child

    def end_trusted(self, child: Child) -> None:
        """End one that outlived its evaluation, with its folder."""
        child.kill()
        if child.folder is not None:
            remove_tree(child.folder)

    def learn(self, *names: str) -> None:
        """Every later child has imported what `learning` knows by these names."""
        if names and self.nursery.learn(*names) and self.spares is not None:
            self.spares.renew()

    def _device_env(self) -> dict[str, str]:
        """What shows a child this device alone."""
        return {"CUDA_VISIBLE_DEVICES": self.machine.device_uuid} if self.cuda and self.machine.device_uuid else {}

    def machine_with_ceilings(self) -> Machine:
        """The machine's facts, with the ceilings measured on it where they are known."""
        return self.machine if self.ceilings is None else with_ceilings(self.machine, self.ceilings)

    def keep_ceilings(self, ceilings: Ceilings) -> None:
        """Remember ceilings measured on this machine."""
        save_ceilings(ceilings, self.machine, self.cache / "ceilings")
        self.ceilings = load_ceilings(self.machine, self.cache / "ceilings") or ceilings

    def close(self) -> None:
        """End the zygote and all children, empty the lanes, remove temporary files. An evaluation under way ends without an answer."""
        with self._lock:
            self._closed = True
        for kept in self.kept.values():
            kept.close()
        if self.spares is not None:
            self.spares.close()
        self._nursery.close()
        self.build_lane.close()
        self.device_lane.close()
        for folder in (self.folder, self.disk):
            remove_tree(folder)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
