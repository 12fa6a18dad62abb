"""Energy of one call: the slope of an energy counter while a burst of calls runs, read by the parent. Imports without torch.

An energy counter moves in steps (every 100 ms or so by NVML on an H200), and a step may show a value that is up to one step old. So no
single value tells what a burst took; but between two steps *inside* the burst the counter has grown by the burst's power for exactly the time
between them, however old both values are. The first of them comes at least a step after the beginning, the last before the end:

    power = (shown at the last step − shown at the first) / time between them,   energy of a call = power × length of the burst / calls

A step is seen at some moment between two readings, as far apart as these were: that is the interval.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from popcorn.devices.nvml import open_nvml
from popcorn.schema.machine import Machine

MIN_STEPS = 2
"""Steps of the counter between the first and the last that count."""
MIN_SPAN_S = 0.15
"""Time between them."""
_STEPS = 5
"""Length of a burst in steps, where that is more than was asked for."""
_RISING_S = 0.02
"""Power needs a moment to reach what a burst takes."""
POLL_S = 0.002
PATIENCE_S = 3.0
POWERCAP = Path("/sys/class/powercap")


class Meter(Protocol):
    """A counter of joules."""

    @property
    def source(self) -> str:
        """`nvml` or `rapl`."""

    def read_j(self) -> float:
        """Joules since some fixed moment, as the counter shows them now. Raises OSError where it cannot be read."""


@dataclass(frozen=True)
class NoMeter:
    """There is no counter here, and why."""

    reason: str


@dataclass(frozen=True)
class EnergyReading:
    """Energy of one call in joules, idle power not subtracted; None with a reason where it could not be measured."""

    energy_j: float | None = None
    low_j: float | None = None
    high_j: float | None = None
    power_w: float | None = None
    """Mean power during the burst."""
    idle_power_w: float | None = None
    """Power before the burst with nothing running."""
    burst_s: float | None = None
    """Length of the burst by this process's clock."""
    calls: int | None = None
    """Calls in the burst."""
    step_s: float | None = None
    """Longest step of the counter that was seen before the burst."""
    source: str | None = None
    reason: str | None = None


class NvmlMeter:
    """The total-energy counter of one GPU, found by its UUID: an index would name another GPU under CUDA_VISIBLE_DEVICES."""

    source = "nvml"

    def __init__(self, uuid: str) -> None:
        nvml = open_nvml()
        if nvml.library is None:
            raise OSError(nvml.reason)
        self._nvml = nvml.library
        try:
            self._handle = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
        except self._nvml.NVMLError as error:
            raise OSError(f"NVML knows no GPU {uuid}: {error}") from error

    def read_j(self) -> float:
        """Joules since the driver was loaded (NVML counts millijoules)."""
        try:
            return self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle) / 1000
        except self._nvml.NVMLError as error:
            raise OSError(f"the GPU's energy counter cannot be read: {error}") from error


class RaplMeter:
    """The processor packages' energy counters, summed. They count all that runs on the packages, not this process alone."""

    source = "rapl"

    def __init__(self, folder: Path = POWERCAP) -> None:
        self._packages = sorted(path for path in folder.glob("*-rapl:*") if path.name.count(":") == 1)
        if not self._packages:
            raise OSError("no RAPL package under /sys/class/powercap (a virtual machine, or the intel_rapl_msr module is not loaded)")
        self._ranges = [int((path / "max_energy_range_uj").read_text()) for path in self._packages]
        self._last = [int((path / "energy_uj").read_text()) for path in self._packages]
        self._total_uj = 0

    def read_j(self) -> float:
        """Joules since this meter was made. A counter that has wrapped once since the last reading is unwrapped."""
        for index, path in enumerate(self._packages):
            now = int((path / "energy_uj").read_text())
            passed = now - self._last[index]
            self._total_uj += passed if passed >= 0 else passed + self._ranges[index]
            self._last[index] = now
        return self._total_uj / 1e6


def find_meter(machine: Machine) -> Meter | NoMeter:
    """The energy counter of a machine's device, tried once; `NoMeter` with the reason where there is none."""
    if machine.kind == "rocm":
        return NoMeter("energy of AMD GPUs is not read yet")
    if machine.kind == "cuda" and machine.device_uuid is None:
        return NoMeter("the GPU's UUID is unknown, and an index could name another GPU")
    try:
        meter: Meter = NvmlMeter(machine.device_uuid or "") if machine.kind == "cuda" else RaplMeter()
        meter.read_j()
    except PermissionError:
        return NoMeter("RAPL counters are readable by root only: sudo chmod a+r /sys/class/powercap/*/energy_uj")
    except OSError as error:
        return NoMeter(str(error))
    return meter


class Pending(Protocol):
    """A burst under way: a `concurrent.futures.Future` of how many calls it made."""

    def done(self) -> bool:
        """Whether it has ended."""

    def result(self) -> int:
        """Calls made; raises what the burst raised."""


def measure_energy(
    begin: Callable[[float], Pending],
    meter: Meter,
    seconds: float = 0.6,
    idle_s: float = 0.2,
    before: EnergyReading | None = None,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> EnergyReading:
    """Energy of one call from a burst of them.

    `begin(seconds)` starts calls back to back for about that long, in another thread or process, and returns at once; the burst waits for the
    device before it ends. The device should have nothing else to do. A reading taken just before says how the device idles. What the counter cannot say becomes a reason, never an exception;
    an exception of the burst itself passes through.
    """
    counter = _Counter(meter, clock, sleep)
    try:
        idle_w, step_s = (before.idle_power_w, before.step_s) if before is not None else (None, None)
        if idle_w is None or step_s is None:
            rest = counter.next_step()
            quiet = counter.next_step(after_s=rest.late_s + idle_s)
            idle_w, step_s = (quiet.shown_j - rest.shown_j) / (quiet.late_s - rest.late_s), counter.longest_step_s
        seconds = max(seconds, _STEPS * step_s)
        start_s = clock()
        pending = begin(seconds)
        try:
            steps = counter.steps_until(pending.done)
        finally:
            end_s = clock()
            calls = pending.result()  # nobody is left running, and what the burst raised comes first
    except (OSError, CounterStuck) as error:
        return EnergyReading(source=meter.source, reason=str(error))
    burst_s = end_s - start_s
    known = EnergyReading(idle_power_w=idle_w, burst_s=burst_s, calls=calls, step_s=step_s, source=meter.source)
    steps = [step for step in steps if step.early_s >= start_s + step_s + _RISING_S]
    if calls < 1 or len(steps) <= MIN_STEPS or steps[-1].late_s - steps[0].late_s < MIN_SPAN_S:
        return replace(
            known, reason=f"the burst lasted {burst_s:.3g} s with {calls} calls and {len(steps)} usable steps of the counter: too few"
        )
    first, last = steps[0], steps[-1]
    grown_j = last.shown_j - first.shown_j
    if grown_j <= 0:
        return replace(known, reason="the energy counter did not grow during the burst")
    low_w, high_w = grown_j / (last.late_s - first.early_s), grown_j / max(POLL_S, last.early_s - first.late_s)
    power_w = grown_j / (last.middle_s - first.middle_s)
    return replace(
        known,
        energy_j=power_w * burst_s / calls,
        low_j=low_w * max(0.0, burst_s - counter.longest_look_s) / calls,  # its end was seen at the latest one look later
        high_j=high_w * burst_s / calls,
        power_w=power_w,
    )


@dataclass(frozen=True)
class Step:
    """The counter moved, at some moment between two readings."""

    early_s: float
    late_s: float
    shown_j: float

    @property
    def middle_s(self) -> float:
        """The middle of the two."""
        return (self.early_s + self.late_s) / 2


class CounterStuck(Exception):
    """The counter showed the same value for longer than any counter's step."""


class _Counter:
    """Waits for a meter's steps and remembers the longest one, and the longest time between two looks."""

    def __init__(self, meter: Meter, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._meter, self._clock, self._sleep = meter, clock, sleep
        self._seen: tuple[float, float] | None = None
        self._last: Step | None = None
        self.longest_step_s = 0.0
        self.longest_look_s = POLL_S

    def next_step(self, after_s: float = float("-inf")) -> Step:
        """Wait for the first step that comes after a time. Raises CounterStuck."""
        begun_s = self._clock()
        while True:
            step = self._look()
            if step is not None and step.early_s > after_s:
                return step
            if step is not None:
                begun_s = self._clock()
            if self._clock() - begun_s > PATIENCE_S:
                raise CounterStuck(f"the energy counter did not move for {PATIENCE_S:g} s")
            self._sleep(POLL_S)

    def steps_until(self, done: Callable[[], bool]) -> list[Step]:
        """All steps until something is done; the last look is before it."""
        steps: list[Step] = []
        while not done():
            step = self._look()
            if step is not None and not done():
                steps.append(step)
            self._sleep(POLL_S)
        return steps

    def _look(self) -> Step | None:
        """One reading; the step that it shows."""
        shown_j, now_s = self._meter.read_j(), self._clock()
        seen, self._seen = self._seen, (now_s, shown_j)
        if seen is None:
            return None
        self.longest_look_s = max(self.longest_look_s, now_s - seen[0])
        if shown_j == seen[1]:
            return None
        step = Step(seen[0], now_s, shown_j)
        if self._last is not None and step.late_s - self._last.late_s < PATIENCE_S:
            self.longest_step_s = max(self.longest_step_s, step.late_s - self._last.late_s)
        self._last = step
        return step
