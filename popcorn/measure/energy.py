"""Energy of one call: a burst of calls between steps of an energy counter, read by the parent. Imports without torch.

An energy counter moves in steps (every 100 ms or so by NVML on an H200), and a step may show a value that is up to one step old. So
the burst starts right after a step; after it, the reading waits for the second step that follows. Then, with E the energy of the burst:

    shown at the end − shown at the start − idle power × step  ≤  E  ≤  shown two steps later − shown at the start

The estimate takes the idle power of the wait off the upper value. A burst shorter than a second is refused: its interval would be
wider than its value.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from popcorn.devices.nvml import open_nvml
from popcorn.schema.machine import Machine

MIN_BURST_S = 1.0
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


def measure_energy(
    burst: Callable[[float], int],
    meter: Meter,
    seconds: float = 2.0,
    idle_s: float = 0.5,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> EnergyReading:
    """Energy of one call from a burst of them.

    `burst(seconds)` makes calls back to back for about that long, waits for the device and returns how many it made; it may run in
    another process. The device should have nothing else to do. What the counter cannot say becomes a reason, never an exception;
    an exception of `burst` itself passes through.
    """
    counter = _Counter(meter, clock, sleep)
    try:
        rest_s, rest_j = counter.next_step()
        quiet_s, quiet_j = counter.next_step(after_s=rest_s + idle_s)
        idle_w = (quiet_j - rest_j) / (quiet_s - rest_s)
        step_s = counter.longest_step_s
        start_s = clock()
        calls = burst(seconds)
        end_s = clock()
        end_j = meter.read_j()
        counter.next_step()
        last_s, last_j = counter.next_step()
    except (OSError, CounterStuck) as error:
        return EnergyReading(source=meter.source, reason=str(error))
    burst_s = end_s - start_s
    known = EnergyReading(idle_power_w=idle_w, burst_s=burst_s, calls=calls, source=meter.source)
    if calls < 1 or burst_s < MIN_BURST_S:
        return _without(known, f"the burst lasted {burst_s:.3g} s with {calls} calls; at least {MIN_BURST_S:g} s are needed")
    if last_j <= quiet_j or end_j < quiet_j:
        return _without(known, "the energy counter did not grow during the burst")
    low_j = max(0.0, end_j - quiet_j - idle_w * (step_s + POLL_S))
    high_j = last_j - quiet_j
    energy_j = min(high_j, max(low_j, high_j - idle_w * (last_s - end_s)))
    return EnergyReading(
        energy_j=energy_j / calls,
        low_j=low_j / calls,
        high_j=high_j / calls,
        power_w=energy_j / burst_s,
        idle_power_w=idle_w,
        burst_s=burst_s,
        calls=calls,
        source=meter.source,
    )


class CounterStuck(Exception):
    """The counter showed the same value for longer than any counter's step."""


class _Counter:
    """Waits for a meter's steps and remembers the longest one."""

    def __init__(self, meter: Meter, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._meter, self._clock, self._sleep = meter, clock, sleep
        self._previous_s: float | None = None
        self.longest_step_s = 0.0

    def next_step(self, after_s: float = float("-inf")) -> tuple[float, float]:
        """Wait for the first step that comes after a time: its time and the value it shows."""
        while True:
            value_j, begun_s = self._meter.read_j(), self._clock()
            while (now_j := self._meter.read_j()) == value_j:
                if self._clock() - begun_s > PATIENCE_S:
                    raise CounterStuck(f"the energy counter did not move for {PATIENCE_S:g} s")
                self._sleep(POLL_S)
            now_s = self._clock()
            if self._previous_s is not None and now_s - self._previous_s < PATIENCE_S:
                self.longest_step_s = max(self.longest_step_s, now_s - self._previous_s)
            self._previous_s = now_s
            if now_s > after_s:
                return now_s, now_j


def _without(known: EnergyReading, reason: str) -> EnergyReading:
    return EnergyReading(idle_power_w=known.idle_power_w, burst_s=known.burst_s, calls=known.calls, source=known.source, reason=reason)
