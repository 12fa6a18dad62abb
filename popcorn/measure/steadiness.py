"""Was the machine steady while it was measured? Two snapshots, compared by a pure function. Imports without torch.

A run is unfit when the device throttled, its clock moved by more than 2 %, someone else computed on it, or the processor was shared:
more threads ready than cores, a cgroup that was throttled, time stolen by the hypervisor. What could not be seen is said.
"""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popcorn.devices.host import cgroup_files
from popcorn.devices.nvml import ask, clock_hz, open_nvml
from popcorn.schema.machine import Machine

CLOCK_CHANGE = 0.02
STEAL_SHARE = 0.01
THROTTLED_SHARE = 0.01
ROOT = Path("/")
AT_WORK = 5
"""Per cent of a sample of the driver's; a process that makes a context and fills one tensor shows 1."""
WAITS = "popcorn-waits"
"""Name of a process that waits for work (/proc/PID/comm)."""

_IDLE = 0x1
"""NVML's reason for a low clock because nothing runs: such a clock says nothing about the run."""

THROTTLES = {
    0x8: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}
"""NVML's reasons (nvmlClocksEventReason*) that make a time unfit. Idle, application clocks and sync boost are no throttling; nor is the
power cap (0x4): a GPU at full work sits at it, and sides that take turns share it."""


@dataclass(frozen=True)
class Snapshot:
    """What one look at the machine showed; None where it cannot be seen."""

    time_s: float
    """Monotonic time of the look."""
    throttles: frozenset[str] | None = None
    """GPU: reasons for which the clock is held down now."""
    sm_clock_hz: float | None = None
    """GPU: clock of the multiprocessors now; None while it idles."""
    gpu_processes: frozenset[int] | None = None
    """GPU: ids of the processes that compute on it and exist under that id here."""
    waiting: frozenset[int] = frozenset()
    """GPU: those among them that another Popcorn of this user keeps for its next evaluation: they have a context and do nothing."""
    hidden_processes: int | None = None
    """GPU: how many more compute on it whose ids do not exist here: in a container, ours and others' alike."""
    load: float | None = None
    """Threads running or ready now on the whole machine, this one included (/proc/loadavg)."""
    cores: int | None = None
    """Cores of the machine, as the load and the stolen time count all of them."""
    throttled_s: float | None = None
    """Seconds that the cgroup was held back so far."""
    steal_s: float | None = None
    """Core-seconds taken by the hypervisor so far."""


@dataclass(frozen=True)
class Steadiness:
    """Whether numbers taken between two looks may stand."""

    fit: bool | None
    """False when something disturbed the run; None when nothing could be watched."""
    reasons: tuple[str, ...] = ()
    """What disturbed it, or what could not be seen."""
    shared: bool = False
    """Whether somebody else computed on the GPU."""


class Watch:
    """Looks at a machine now and, on `check`, once more. For a GPU begin when it is warm: an idle one has no clock to compare."""

    def __init__(self, machine: Machine, own: Collection[int] = (), beside: Collection[int] = ()) -> None:
        """`own` are the ids of our processes that compute on its GPU, those that start later included; those `beside` are ours, too, and have a context,
        but should not compute now."""
        self.machine = machine
        self.own, self.beside = frozenset(own), frozenset(beside)
        self.began_s = time.time()
        self.before = look(machine)

    def check(self, own: Collection[int] | None = None, beside: Collection[int] = ()) -> Steadiness:
        """Compare now with the start. `own` and `beside` where our processes are others now."""
        ours = self.own | self.beside if own is None else frozenset(own)
        worked = count_at_work(self.machine, self.beside | frozenset(beside), self.began_s)
        return compare(self.before, look(self.machine), self.own | self.beside, ours | frozenset(beside), worked)


def count_at_work(machine: Machine, pids: Collection[int], since_s: float) -> int:
    """How many of these processes executed something on the GPU since then (seconds of the epoch), by the driver's samples; 0 where it tells nothing, as
    in a container, whose process ids are not the driver's."""
    nvml = open_nvml().library
    handle = ask(nvml, "nvmlDeviceGetHandleByUUID", machine.device_uuid) if pids and nvml and machine.device_uuid else None
    samples = ask(nvml, "nvmlDeviceGetProcessUtilization", handle, int(since_s * 1e6)) if handle is not None else None
    return len({sample.pid for sample in samples or () if sample.pid in pids and sample.smUtil >= AT_WORK})


def look(machine: Machine, root: Path = ROOT) -> Snapshot:
    """One snapshot: of the GPU through NVML where the machine is one, of the processor through /proc and the cgroup in any case."""
    return Snapshot(time_s=time.monotonic(), cores=os.cpu_count(), **_processor(root), **_gpu(machine))


def compare(
    before: Snapshot, after: Snapshot, own: Collection[int] = (), own_after: Collection[int] | None = None, worked: int = 0
) -> Steadiness:
    """Judge a run by the snapshots around it. Pure. `own` are process ids that do not count as foreign; those of the second look where it had others.
    `worked` of ours executed something meanwhile that they should not."""
    elapsed_s = max(after.time_s - before.time_s, 1e-9)
    cores = after.cores or 1
    faults = []
    throttles = (before.throttles or frozenset()) | (after.throttles or frozenset())
    if throttles:
        faults.append(f"the GPU throttles: {', '.join(sorted(throttles))}")
    if before.sm_clock_hz and after.sm_clock_hz:
        change = after.sm_clock_hz / before.sm_clock_hz - 1
        if abs(change) > CLOCK_CHANGE:
            faults.append(f"the SM clock moved by {change:+.1%} to {after.sm_clock_hz / 1e6:.0f} MHz")
    foreign = max(_foreign(before, own), _foreign(after, own if own_after is None else own_after))
    if foreign:
        faults.append(f"{foreign} other process(es) compute on the GPU")
    if worked:
        faults.append(f"{worked} process(es) of other evaluations worked on the GPU")
    if after.load is not None and after.load > cores + 1:  # our own threads may fill the cores, and one looks
        faults.append(f"{after.load:.0f} threads of this machine, others' too, want {cores} cores")
    throttled_s = _grown(before.throttled_s, after.throttled_s)
    if throttled_s is not None and throttled_s > THROTTLED_SHARE * elapsed_s:
        faults.append(f"the cgroup's CPU quota held us back for {throttled_s:.3g} s of {elapsed_s:.3g} s")
    steal_s = _grown(before.steal_s, after.steal_s)
    if steal_s is not None and steal_s > STEAL_SHARE * elapsed_s * cores:
        faults.append(f"the hypervisor took {steal_s / elapsed_s / cores:.1%} of the processor")
    if faults:
        return Steadiness(False, tuple(faults), bool(foreign or worked))
    seen = (after.throttles, after.sm_clock_hz, after.gpu_processes, after.load, after.throttled_s, after.steal_s)
    return Steadiness(None, ("nothing could be watched here",)) if all(value is None for value in seen) else Steadiness(True)


def _foreign(snapshot: Snapshot, own: Collection[int]) -> int:
    """Processes on the GPU that cannot be ours. Hidden ones are ours as long as there are no more of them than of ours unseen."""
    seen = snapshot.gpu_processes or frozenset()
    unseen_own = len(frozenset(own) - seen)
    return len(seen - frozenset(own) - snapshot.waiting) + max(0, (snapshot.hidden_processes or 0) - unseen_own)


def waits(pid: int, root: Path = ROOT) -> bool:
    """Whether a process is one that another Popcorn of this user keeps waiting. What this one's own do it knows better, and says (`own`)."""
    try:
        place = root / f"proc/{pid}"
        zygote = _parent(place)
        named = place.stat().st_uid == os.getuid() and (place / "comm").read_text().strip() == WAITS
        return named and _parent(root / f"proc/{zygote}") != os.getpid()
    except (OSError, ValueError):  # it ended meanwhile
        return False


def _parent(place: Path) -> int:
    return int((place / "status").read_text().partition("PPid:")[2].split()[0])


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _gpu(machine: Machine) -> dict[str, Any]:
    nvml = open_nvml().library
    handle = ask(nvml, "nvmlDeviceGetHandleByUUID", machine.device_uuid) if nvml and machine.device_uuid else None
    if handle is None:
        return {}
    mask = ask(nvml, "nvmlDeviceGetCurrentClocksEventReasons", handle)
    if mask is None:
        mask = ask(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    processes = ask(nvml, "nvmlDeviceGetComputeRunningProcesses", handle)
    ids = None if processes is None else [int(process.pid) for process in processes]
    here = None if ids is None else frozenset(pid for pid in ids if Path(f"/proc/{pid}").exists())
    idle = mask is not None and mask & _IDLE
    return {
        "throttles": None if mask is None else frozenset(name for bit, name in THROTTLES.items() if mask & bit),
        "sm_clock_hz": None if idle else clock_hz(handle, "NVML_CLOCK_SM"),
        "gpu_processes": here,
        "waiting": frozenset(pid for pid in here or () if waits(pid)),
        "hidden_processes": None if ids is None or here is None else len(set(ids) - here),
    }


def _processor(root: Path) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    load = _words(root / "proc/loadavg", "")
    if load and len(load) > 3 and load[3].partition("/")[0].isdecimal():
        seen["load"] = float(load[3].partition("/")[0])
    stat = _words(root / "proc/stat", "cpu ")
    if stat and len(stat) > 8:
        seen["steal_s"] = int(stat[8]) / os.sysconf("SC_CLK_TCK")
    throttled = [_throttled_s(text) for text in cgroup_files(root, "cpu", "cpu.stat", "cpu.stat")]
    known = [value for value in throttled if value is not None]
    return seen | ({"throttled_s": max(known)} if known else {})


def _throttled_s(cpu_stat: str) -> float | None:
    """Seconds of throttling in a cgroup's cpu.stat: microseconds in version 2, nanoseconds in version 1."""
    for line in cpu_stat.splitlines():
        name, _, value = line.partition(" ")
        if name in ("throttled_usec", "throttled_time") and value.isdecimal():
            return int(value) * (1e-6 if name == "throttled_usec" else 1e-9)
    return None


def _words(path: Path, start: str) -> list[str] | None:
    """Words of the first line with this start; None without one."""
    try:
        text = path.read_text()
    except OSError:
        return None
    return next((line.split() for line in text.splitlines() if line.startswith(start)), None)
