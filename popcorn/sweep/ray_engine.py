"""The Engine over a Ray cluster: an actor a GPU, builds as CPU tasks beside it, devices of different kinds by resource label. Needs ray.

An actor owns one device with its lanes and its worker processes; Ray gives it the GPU. When its node dies the request goes to another actor: requests that
ended are in the store, so nothing is lost but time. Records come back over the wire and are written by this process too, if the actor's store is elsewhere.
"""

import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from popcorn.agents.place import WIDTH, Place
from popcorn.devices.ceilings import Ceilings
from popcorn.errors import BadSweep, MissingTool
from popcorn.records.store import Store
from popcorn.records.tables import merge
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.resting import Resting
from popcorn.worker.building import Built
from popcorn.worker.request import Request

TRIES = 5
"""Actors that may die of one request before it is a fault of ours: a candidate lives in a process of its own and cannot reach an actor."""

_RETURN_S = 5.0
"""What an actor that died needs about to be there again; waited where all did under one request."""


class Device:
    """What an actor is: one device, opened where Ray put it."""

    def __init__(self, opener: Callable[..., list[Place]], cache: str):
        os.environ["POPCORN_CACHE_DIR"] = cache
        self.store = Store(Path(cache) / "records")
        device = "cuda:0" if os.environ.get("CUDA_VISIBLE_DEVICES") and _gpu_here() else "cpu"
        (self.place,) = opener(device, 1, self.store, lambda said: None)

    def evaluate(self, request: str) -> str:
        """A record as JSON, for a request as JSON: nothing is unpickled that a candidate had a hand in."""
        asked = Request.model_validate_json(request).model_copy(update={"device": self.place.device})
        return self.place.engine.submit(asked).result().model_dump_json()

    def build(self, request: str) -> Built:
        """In this device's build lane."""
        return self.place.engine.build(Request.model_validate_json(request)).result()

    def machine(self) -> str:
        """Its facts."""
        return self.place.machine().model_dump_json()

    def ceilings(self) -> str:
        """Those of its device, measured in its lane where nobody did before."""
        if self.place.ceilings() is None:
            self.place.measure_ceilings()
        found = self.place.ceilings()
        assert found is not None
        return found.model_dump_json()

    def process(self) -> int:
        """Its process id, for whoever wants to see it die."""
        return os.getpid()


class RayEngine:
    """An Engine over actors, all of one kind of device. Requests go to the actor with the least under way, and to none whose device rests while others do not."""

    def __init__(self, actors: list[Any], store: Store):
        self.actors, self.store = actors, store
        self.asked = self.moved = 0
        """Requests; of these, carried to another actor because theirs died."""
        self._given = 0
        self._busy = [0] * len(actors)
        self._health = Resting("faults of the harness")
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(WIDTH * max(1, len(actors)), thread_name_prefix="ray")

    def submit(self, request: Request) -> "Future[Record]":
        """The record, in this process's store too."""
        return self._pool.submit(self._evaluate, request)

    def build(self, request: Request) -> "Future[Built]":
        """On some actor's node; its cache of builds is that node's."""
        return self._pool.submit(lambda: self.ask("build", request.model_dump_json()))

    def close(self) -> None:
        """End the actors."""
        import ray

        self._pool.shutdown(wait=True, cancel_futures=True)
        for actor in self.actors:
            ray.kill(actor)

    def _evaluate(self, request: Request) -> Record:
        with self._lock:
            self.asked += 1
        record = self.ask("evaluate", request.model_dump_json(), read=Record.model_validate_json)
        record = record.model_copy(update={"provenance": record.provenance.model_copy(update={"engine": "ray"})})
        merge([[record]], self.store)
        return record

    def ask(self, what: str, *asked: str, read: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """What some actor's method answers, as it is read; another actor's where that one dies. Raises what the method raises, BadSweep after TRIES."""
        import ray

        last: Exception | None = None
        left: set[int] = set()  # actors that died of it, or while they had it: they may be on their way back, and nobody is less busy
        for _ in range(TRIES):
            if len(left) >= len(self.actors):
                time.sleep(_RETURN_S)
            index, job = self._take(left)
            fault: str | None = None
            try:
                answer = read(ray.get(getattr(self.actors[index], what).remote(*asked)))
                fault = _fault_in(answer)
                return answer
            except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as died:
                last = died
                left.add(index)
                with self._lock:
                    self.moved += 1
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._give_back(index, job, fault)
        raise BadSweep(f"{TRIES} actors died of one request ({type(last).__name__}); look at Ray's logs of these nodes.")

    def _take(self, left: Collection[int] = ()) -> tuple[int, str]:
        """An actor, none of those `left` while there are others, and a name for what it is given."""
        with self._lock:
            others = [i for i in range(len(self.actors)) if i not in left] or range(len(self.actors))
            index = min([i for i in others if not self._health.rests(f"actor {i}")] or others, key=self._busy.__getitem__)
            self._busy[index] += 1
            self._given += 1
            self._health.begins(f"actor {index}", str(self._given))
            return index, str(self._given)

    def _give_back(self, index: int, job: str, fault: str | None) -> None:
        with self._lock:
            self._busy[index] -= 1
            if fault is None:
                self._health.answered(f"actor {index}")
            else:
                self._health.failed(f"actor {index}", job, fault)
            self._health.let_go(f"actor {index}", job)


def _fault_in(answer: Any) -> str | None:
    """Why an evaluation's answer is a fault of ours; None where it is a result."""
    if not isinstance(answer, Record) or answer.verdict.outcome != "harness_error":
        return None
    return answer.verdict.reason or answer.verdict.outcome


def start(
    address: str | None,
    devices: int,
    open_them: Callable[..., list[Place]],
    cache: Path,
    store: Store,
    label: str | None = None,
    cpus: float = 2,
) -> RayEngine:
    """Actors on a cluster (`auto`: the one of this machine or of RAY_ADDRESS; None: a new one here). `label`: a custom resource that their nodes have,
    such as `accelerator_type:H200`, where devices differ. Raises MissingTool."""
    try:
        import ray
    except ImportError:
        raise MissingTool("sweeps on Ray need it: pip install 'popcornbench[ray]'; on one machine use --local.") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        new: dict[str, Any] = {"num_gpus": devices, "object_store_memory": 100 << 20} if address is None else {"address": address}
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False, runtime_env=_environment(), **new)
    options: dict[str, Any] = {"num_gpus": 1, "num_cpus": cpus, "max_restarts": -1, "max_concurrency": WIDTH}
    if label is not None:
        options["resources"] = {label: 0.001}
    actor: Any = ray.remote(Device).options(**options)
    actors = [actor.remote(open_them, str(cache)) for _ in range(devices)]
    for one in actors:
        ray.get(one.machine.remote())
    return RayEngine(actors, store)


def opener(
    address: str | None, folder: SweepFolder, label: str | None = None, inside: Callable[..., list[Place]] | None = None
) -> Callable[..., list[Place]]:
    """Places for a sweep: one, over all GPUs of the cluster (or the first `gpus`), judged where they are and recorded here. `inside` opens
    an actor's own place; the real one when None."""

    def open_them(device: str, gpus: int | None, store: Store, tell: Callable[[str], None]) -> list[Place]:
        import ray

        from popcorn.sweep.places import open_places

        if not ray.is_initialized():
            ray.init(
                address=address or "auto", include_dashboard=False, log_to_driver=False, configure_logging=False, runtime_env=_environment()
            )
        devices = gpus or int(ray.cluster_resources().get("GPU", 0))
        if devices < 1:
            raise BadSweep("the Ray cluster has no GPU; start its nodes with GPUs, or with `ray start --num-gpus N`.")
        engine = start(address, devices, inside or open_places, folder.path.resolve() / "ray", store, label)
        place = RayPlace(engine)
        place.devices = 1
        tell(f"Ray: {devices} actors on {place.machine().device_id}")
        return [place]

    return open_them


class RayPlace(Place):
    """A place whose machine is that of its actors, whatever this process runs on."""

    def __init__(self, engine: RayEngine):
        import ray

        super().__init__(engine, "auto")
        self._machine = Machine.model_validate_json(ray.get(engine.actors[0].machine.remote()))  # of the first actor; all are of one kind
        self._measured: Ceilings | None = None

    def ceilings(self) -> Ceilings | None:
        """An actor's, once they were asked for."""
        return self._measured

    def measure_ceilings(self) -> dict[str, float]:
        """By an actor, or what it has; its lane's seconds stay with it."""
        with self._one_measures:
            if self._measured is None:
                self._measured = self.engine.ask("ceilings", read=Ceilings.model_validate_json)  # type: ignore[attr-defined]
        return {"queue_s": 0.0, "run_s": 0.0}


def _environment() -> dict[str, Any]:
    return {"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "RAY_USAGE_STATS_ENABLED": "0"}}


def _gpu_here() -> bool:
    from popcorn.devices.probe import devices

    return devices()[0].startswith("cuda")
