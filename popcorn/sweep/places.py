"""One place a device: an engine that remembers, behind a gate that closes while the device is unfit. Who judges for a sweep. Imports no torch."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from popcorn.agents.place import WIDTH, Place
from popcorn.devices.probe import devices, probe
from popcorn.errors import BadSweep
from popcorn.measure.steadiness import Snapshot, compare, look
from popcorn.records.store import Store
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.local import LocalEngine
from popcorn.worker.remembering import RememberingEngine
from popcorn.worker.request import Request

Tell = Callable[[str], None]
UNFIT_IN_A_ROW = 3
"""Evaluations whose own controls failed before the device rests."""
REST_S = 60.0
LOOK_S = 5.0
CONTROL_PROBLEM = "original/L1/36"


class Gate:
    """Closed while the device is throttled or used by somebody else, and for a rest after several failed controls."""

    def __init__(self, machine: Machine, tell: Tell, wait: Callable[[float], None] = time.sleep):
        self.machine, self._tell, self._wait = machine, tell, wait
        self.closed: str | None = None
        """Why no evaluation begins now."""
        self.stopping = False
        self._unfit = 0
        self._before: tuple[float | None, float | None] | None = None
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Returns when the device is fit, or the sweep stops."""
        with self._lock:
            while not self.stopping and (reason := self._why()) is not None:
                if self.closed != reason:
                    self.closed = reason
                    self._tell(f"{self.machine.device_id}: paused, {reason}")
                self._wait(REST_S if self._unfit >= UNFIT_IN_A_ROW else LOOK_S)
                self._unfit = 0
            if self.closed is not None:
                self.closed = None
                self._tell(f"{self.machine.device_id}: goes on")

    def learn(self, record: Record) -> None:
        """What an evaluation's own A/A and planted controls say of the device."""
        timing = record.measurement.timing
        if timing is not None and timing.control is not None and timing.control.fit is not None:
            self._unfit = 0 if timing.control.fit else self._unfit + 1

    def _why(self) -> str | None:
        if self._unfit >= UNFIT_IN_A_ROW:
            return f"{self._unfit} evaluations in a row failed their own controls; it rests {REST_S:.0f} s"
        if self.machine.kind != "cuda":
            return None
        return reason_of(self.machine)


def reason_of(machine: Machine) -> str | None:
    """Why a GPU should not be measured on now: its driver's reasons for lower clocks, or processes that are not ours."""
    seen = look(machine)
    ours = {os.getpid(), *(one.pid for one in psutil.Process().children(recursive=True))}
    # what a processor does, and the clock of a GPU that nobody uses yet, is no reason to wait
    alone = Snapshot(
        time_s=seen.time_s, throttles=seen.throttles, gpu_processes=seen.gpu_processes, waiting=seen.waiting, hidden_processes=seen.hidden_processes
    )  # fmt: skip
    found = compare(alone, alone, ours)
    return None if found.fit is not False else "; ".join(found.reasons)


def control(place: Place, cache: Path, problem: str = CONTROL_PROBLEM) -> bool | None:
    """The machine's own A/A control, before anything is measured: the reference against itself, with a planted slowdown, kept in `controls/`.

    What it found: fit, unfit, or None where the place has no bench of its own or the control gave no answer.
    """
    bench = getattr(place.engine, "bench", None)
    if bench is None:
        return None
    from popcorn.evaluate import evaluate

    found = find_problem(problem)
    request = Request(
        problem=found, source=found.source.rstrip() + "\n\n\nclass ModelNew(Model):\n    pass\n", language="torch", name="kernel.py", device=place.device,
        trials=5, compile_baseline=False, energy=False, counters=False,
    )  # fmt: skip
    record = evaluate(request, bench, Store(cache / "controls"))
    place.gate.learn(record)  # type: ignore[attr-defined]
    timing = record.measurement.timing
    return None if timing is None else timing.control.fit


def open_places(device: str, gpus: int | None, store: Store, tell: Tell) -> list[Place]:
    """A place for each device that the sweep may use: every GPU here (or the first `gpus`) for `cuda` and `auto`, which takes the CPU where there is none.
    Raises BadSweep for `cuda` without a GPU."""
    names = [name for name in devices() if name.startswith("cuda")][:gpus] if device in ("auto", "cuda") else [device]
    if device == "cuda" and not names:
        raise BadSweep(
            "this sweep is for a GPU, and there is none here; `popcorn doctor` says what was found, and `device` in its file what it is for."
        )
    return [open_place(name, store, tell, build_workers=_share(len(names))) for name in names or ["cpu"]]


def open_place(device: str, store: Store, tell: Tell, build_workers: int | None = None) -> Place:
    """The local engine on one device. `evaluate` is imported here: a worker that only plans needs none of it."""
    from popcorn.evaluate import evaluate

    store.check_writable()
    gate = Gate(probe(device), tell)

    def judge(request: Request, bench: Bench) -> Record:
        gate.wait()
        record = evaluate(request.model_copy(update={"device": device}), bench, store)
        if request.control:  # who asks for no controls is not stopped by them
            gate.learn(record)
        return record

    bench = Bench(device, build_workers or _share(1))
    engine = RememberingEngine(LocalEngine(bench, judge, width=WIDTH), store, bench.machine)
    place = Place(engine, device)
    place.gate = gate  # type: ignore[attr-defined]
    return place


def beside(place: Place, store: Store) -> Place:
    """The same bench, lanes and gate, with records in another store: for submissions that must not count."""
    from popcorn.evaluate import evaluate

    bench, gate = place.engine.bench, place.gate  # type: ignore[attr-defined]

    def judge(request: Request, there: Bench) -> Record:
        gate.wait()
        return evaluate(request, there, store)

    return Place(RememberingEngine(LocalEngine(bench, judge, width=WIDTH), store, bench.machine), place.device)


def _share(places: int) -> int:
    """Build workers of one place: the machine's cores, shared out."""
    return max(2, len(os.sched_getaffinity(0)) // max(1, places))
