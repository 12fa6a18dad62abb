"""Places that judge by a fixed rule in a fixed time, with records in a real store: for sweeps' own habits, where a real evaluation adds nothing but minutes."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from popcorn.agents.place import Place
from popcorn.devices.probe import probe
from popcorn.records.store import Store
from popcorn.schema.record import Build, Lane, Record
from popcorn.worker.building import Built
from popcorn.worker.lanes import WorkLane
from popcorn.worker.remembering import RememberingEngine
from popcorn.worker.request import Request
from popcorn.worker.writing import candidate_hash
from tests.made_records import make_measurement, make_record

SECONDS = float(os.environ.get("PRETEND_S", "0.03"))


class PretendEngine:
    """Everything is correct and 1.1× as fast, after a turn in the one device lane. Each finished evaluation leaves a line in `evaluations.log`."""

    def __init__(self, store: Store, log: Path, seconds: float = SECONDS, device: str = "cpu"):
        self.store, self.log, self.seconds, self.machine = store, log, seconds, probe("cpu")
        self.device = device
        self._pool = ThreadPoolExecutor(64)
        self.device_lane = WorkLane("device", 1)

    def submit(self, request: Request) -> "Future[Record]":
        return self._pool.submit(lambda: self.device_lane.run(lambda: self._judge(request))[0])

    def build(self, request: Request) -> "Future[Built]":
        return self._pool.submit(lambda: Built(Build(build_s=0.0), Lane(queue_s=0.0, run_s=0.0)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.device_lane.close()

    def _judge(self, request: Request) -> Record:
        time.sleep(self.seconds)
        plain = make_record("correct", measurement=make_measurement())
        subject = plain.subject.model_copy(
            update={"problem": request.problem.id, "problem_hash": request.problem.hash, "candidate_hash": candidate_hash(request.source), "source": request.source}
        )  # fmt: skip
        made = plain.provenance.model_copy(update={"asked": request.asked, "node": f"{os.getpid()}"})
        identity = os.urandom(8).hex()
        record = plain.model_copy(update={"id": identity, "subject": subject, "machine": self.machine, "provenance": made})
        self.store.append(record)
        with self.log.open("a") as file:
            file.write(f"{request.asked} {os.getpid()} {self.device} {request.problem.id}\n")
        return record


def open_pretend(device: str, gpus: int | None, store: Store, tell: Callable[[str], None]) -> list[Place]:
    """`gpus` places; on Slurm the one GPU that the task was given is noted."""
    log = store.folder.parent / "evaluations.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    places = []
    for index in range(gpus or 1):
        name = f"gpu{os.environ['CUDA_VISIBLE_DEVICES']}" if "CUDA_VISIBLE_DEVICES" in os.environ else f"cpu{index}"
        engine = PretendEngine(store, log, device=name)
        places.append(Place(RememberingEngine(engine, store, engine.machine), "cpu"))
    return places
