"""Place: who judges for the agents of this process, and what is known of the machine. One a device, shared by every agent."""

import os
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from popcorn.devices.ceilings import Ceilings, load_ceilings, measure_in_child, save_ceilings, with_ceilings
from popcorn.devices.probe import probe
from popcorn.errors import BadAgent
from popcorn.home import cache_folder
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.suites.jitter import Size
from popcorn.suites.problems import Problem, facts
from popcorn.worker.engine import Engine
from popcorn.worker.request import Request

WIDTH = 64
"""Requests under way at once: the lanes are where they wait, and nowhere else."""


@dataclass
class Place:
    """An engine, the device it judges on, and how many devices it gives to one job."""

    engine: Engine
    device: str = "auto"
    devices: int = 1
    _one_measures: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def _machine(self) -> Machine:
        return probe(self.device)

    def ceilings(self) -> Ceilings | None:
        """Those measured on this machine earlier, or None."""
        bench = getattr(self.engine, "bench", None)
        if bench is not None:
            return bench.ceilings
        return load_ceilings(self._machine, cache_folder() / "ceilings")

    def machine(self) -> Machine:
        """The machine's facts, with measured ceilings where there are some."""
        found = self.ceilings()
        return self._machine if found is None else with_ceilings(self._machine, found)

    def size(self) -> Size:
        """Which of a problem's ranges hold here."""
        return "cpu" if self._machine.kind == "cpu" else "full"

    def measure_ceilings(self) -> dict[str, float]:
        """Measure and keep them, in the device lane where the engine has one, unless another who asked was there before; the lane's seconds."""
        device = "cpu" if self._machine.kind == "cpu" else f"cuda:{self._machine.device_index}"
        bench = getattr(self.engine, "bench", None)
        if bench is None:
            with self._one_measures:
                if self.ceilings() is None:
                    save_ceilings(measure_in_child(device), self._machine, cache_folder() / "ceilings")
            return {"queue_s": 0.0, "run_s": 0.0}

        def measure() -> None:
            if bench.ceilings is None:
                bench.keep_ceilings(measure_in_child(device))

        _, lane = bench.device_lane.run(measure)
        return {"queue_s": lane.queue_s, "run_s": lane.run_s}

    def check(self, problem: Problem) -> None:
        """Raises BadAgent for a problem that needs more devices than this engine gives to one job."""
        needed = devices_needed(problem)
        if facts(problem).ranks is not None and self._machine.kind == "cpu":
            return  # its ranks are processes here, and there are always enough of those
        if needed > self.devices:
            raise BadAgent(
                f"{problem.id} needs {needed} devices at once and this engine gives a job {self.devices}; "
                "run it on a node with that many, with an engine that gives the job all of them."
            )


def devices_needed(problem: Problem) -> int:
    """`RANKS` as the problem's file declares it, read without running it; 1 where it says nothing."""
    return facts(problem).ranks or 1


def open_place(device: str = "auto", build_workers: int | None = None) -> Place:
    """The local engine on one device, with a build lane as wide as the machine has cores: one build waits for no other while cores are free."""
    from popcorn.evaluate import evaluate
    from popcorn.records.store import default_store
    from popcorn.worker.bench import Bench
    from popcorn.worker.local import LocalEngine
    from popcorn.worker.ranks import gpus

    store = default_store()
    store.check_writable()

    def judge(request: Request, bench: Bench) -> Record:
        return evaluate(request, bench, store)

    workers = build_workers or max(2, len(os.sched_getaffinity(0)))
    together = gpus() if device == "auto" else 1  # a problem of communication gets every GPU of the machine
    return Place(LocalEngine(Bench(device, workers), judge, width=WIDTH), device, devices=max(1, together))


def runs_folder() -> Path:
    """Where runs are kept: `$POPCORN_CACHE_DIR/runs/agents`."""
    return cache_folder() / "runs" / "agents"
