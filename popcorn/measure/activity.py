"""Device activity of single calls, from the records that CUPTI keeps (through torch.profiler's Kineto). Runs in a process that has torch.

They hold each kernel's name, start and end: what a call is made of. Its time is the timer's to say (timing.py). A call has all device work that was launched
within it, on every stream and from every thread, copies and fills included. Nothing is guessed: work that belongs to no call is an error.

What it does not see: work that a call leaves to be launched after its own end, while the space between calls runs.
"""

import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

NAME_LIMIT = 200
_HOST_API = re.compile(r"(cuda|cu|hip)[A-Z]\w*$")
_NOT_WORK = re.compile(r"(Context|Stream|Event) (Sync|Wait)")
_OTHER_TYPES = {"gpu_user_annotation", "user_annotation", "cuda_sync", "cuda_event", "overhead", "gpu_pm_counter"}
_API_TYPES = {"cuda_runtime", "cuda_driver"}

Call = Callable[[], object]


class NoDeviceRecord(RuntimeError):
    """There are no records of device activity here: a CPU has none, or the profiler is not usable."""


class StrayActivity(RuntimeError):
    """Device work that was launched neither within a call nor between calls: it cannot be charged to anyone."""


@dataclass(frozen=True)
class Record:
    """One piece of device work."""

    name: str
    """Demangled name, cut to 200 characters."""
    start_ns: int
    end_ns: int
    kind: Literal["kernel", "copy", "fill"]
    launched_ns: int | None
    """Host time of the launch; None when the launch itself was not recorded."""

    @property
    def time_s(self) -> float:
        """Its own duration."""
        return (self.end_ns - self.start_ns) * 1e-9


def record_activity(calls: Sequence[Call], device: str) -> list[tuple[Record, ...]]:
    """Device work of each call, in order of its start, from one profiling session; a call may have none.

    The session first runs a small known kernel; when even that leaves no record the profiler does not work here, and the error
    `NoDeviceRecord` says so. Raises `StrayActivity` where there was device work outside the calls and the space between them.
    """
    import torch
    from torch.autograd.profiler import profile, record_function  # torch.profiler's front imports torch._inductor: a second

    if torch.device(device).type == "cpu":
        raise NoDeviceRecord("a CPU keeps no records of device activity; use the clock")
    label = f"popcorn.{secrets.token_hex(8)}"  # secret, so that a call cannot open a range in our name
    known = torch.ones(16, device=device)
    torch.cuda.synchronize(device)
    with profile(use_device="cuda", use_kineto=True) as profiler:
        with record_function(f"{label}.known"):
            known.add_(1)
            torch.cuda.synchronize(device)
        for index, call in enumerate(calls):
            with record_function(f"{label}.between"):
                torch.cuda.synchronize(device)
            with record_function(f"{label}.call.{index}"):
                call()
                torch.cuda.synchronize(device)
    results = profiler.kineto_results
    if results is None:
        raise NoDeviceRecord("the profiler returned nothing")
    return assign(results.events(), label, len(calls))


def assign(events: Iterable[Any], label: str, calls: int) -> list[tuple[Record, ...]]:
    """Give each device record to the call in whose range it was launched. Pure: `events` need Kineto's methods, nothing more.

    A record belongs to the range that holds its launch on the host, found by correlation id. A record whose launch was not recorded
    belongs to the range that holds its start on the device, which is sound because every range ends after a device synchronise.
    """
    records, ranges = _read(list(events), label)
    ordered = sorted((start_ns, end_ns, name) for name, (start_ns, end_ns) in ranges.items())
    starts = [start_ns for start_ns, _, _ in ordered]
    found: dict[str, list[Record]] = {}
    for record in records:
        moment_ns = record.start_ns if record.launched_ns is None else record.launched_ns
        position = bisect_right(starts, moment_ns) - 1
        if position < 0 or moment_ns > ordered[position][1]:
            raise StrayActivity(f"{record.name!r} was launched outside every call")
        found.setdefault(ordered[position][2], []).append(record)
    if not found.get("known"):
        raise NoDeviceRecord("the profiler recorded no device activity at all (another profiler may hold CUPTI)")
    mine = [found.get(f"call.{index}", []) for index in range(calls)]
    return [tuple(sorted(records, key=lambda record: record.start_ns)) for records in mine]


def _read(events: list[Any], label: str) -> tuple[list[Record], dict[str, tuple[int, int]]]:
    """Device records and our ranges. All ranges called `between` stand under their own number."""
    launched: dict[int, int] = {}
    ranges: dict[str, tuple[int, int]] = {}
    for event in events:
        if not _on_host(event):
            continue
        if event.name().startswith(label + "."):
            name = event.name()[len(label) + 1 :]
            name = f"{name}.{len(ranges)}" if name == "between" else name
            ranges[name] = (event.start_ns(), event.start_ns() + event.duration_ns())
        elif event.correlation_id() and _is_launch(event):
            launched[event.correlation_id()] = event.start_ns()
    records = []
    for event in events:
        if not _on_host(event) and _is_work(event, label):
            name = event.name()
            kind: Literal["kernel", "copy", "fill"] = (
                "copy" if name.startswith("Memcpy") else "fill" if name.startswith("Memset") else "kernel"
            )
            end_ns = event.start_ns() + event.duration_ns()
            records.append(Record(name[:NAME_LIMIT], event.start_ns(), end_ns, kind, launched.get(event.correlation_id())))
    return records, ranges


def _on_host(event: Any) -> bool:
    return getattr(event.device_type(), "name", str(event.device_type())) == "CPU"


def _activity_type(event: Any) -> str | None:
    """Kineto's own word for the event, which older torch does not give."""
    ask = getattr(event, "activity_type", None)
    return ask() if ask is not None else None


def _is_launch(event: Any) -> bool:
    kind = _activity_type(event)
    if kind is not None:
        return kind in _API_TYPES
    return not event.is_user_annotation() and _HOST_API.match(event.name()) is not None


def _is_work(event: Any, label: str) -> bool:
    """Ranges also appear on the device's side, spanning the work within them; they and synchronisation are no work."""
    kind = _activity_type(event)
    if kind is not None:
        return kind not in _OTHER_TYPES  # a kind we do not know counts as work: a span may come out too long, never too short
    return not (event.is_user_annotation() or event.name().startswith(label) or _NOT_WORK.match(event.name()))
