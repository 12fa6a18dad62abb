"""Memory that one call needs beyond what was resident before it. Runs in a process that has torch.

A call is made once to warm up. What it then keeps for good (a workspace it caches, a table it builds) counts as its own, in every
figure of the peak; the workspace that cuBLAS keeps for the whole process is let go first and does not.

GPU: the caching allocator's own count of requested bytes, with its peak reset and its cache emptied. Not seen: memory taken from the
driver behind torch's back.

CPU: two measurements. (1) torch's allocator events of a profiled call, exact to the byte, every tensor counted whether or not it is
written to. (2) the kernel's high-water mark of resident pages (VmHWM, reset through /proc/self/clear_refs) after the heap's free pages
were handed back (malloc_trim), which also sees what C and C++ code allocates for itself. The second is the coarser, so it replaces
the first only where it exceeds it by more than its own uncertainty (5 % and a few MB). Not seen: memory that native code takes outside
torch and never writes to, or that is smaller than that uncertainty; free heap that malloc could not hand back and the call takes again.
"""

import ctypes
import gc
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Call = Callable[[], object]

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MEMORY_EVENT = "[memory]"


@dataclass(frozen=True)
class PeakMemory:
    """Bytes of one call; None with a reason where it could not be measured."""

    peak_bytes: int | None = None
    """Most bytes in use at once during the call, minus those resident before it."""
    output_bytes: int | None = None
    """Bytes of the storages of the call's outputs, each storage once, without those of its inputs."""
    workspace_bytes: int | None = None
    """Peak minus outputs, not below 0."""
    saved_bytes: int | None = None
    """Bytes alive after the forward pass beside its outputs: kept for the backward. None when no forward was given."""
    reason: str | None = None
    """Why a figure is missing, or which measurement was left out."""


def measure_memory(call: Call, device: str, inputs: Sequence[Any] = (), forward: Call | None = None) -> PeakMemory:
    """Peak memory of one call on `device` (a torch device). The call is made several times and must be repeatable.

    `inputs` are values whose tensors do not count as outputs when the call returns them or views of them. `forward`, if given, is the
    forward pass alone, returning its outputs with their graph: it fills `saved_bytes`.
    """
    known = _storages(inputs)
    measure = _on_cpu if device.partition(":")[0] == "cpu" else _on_gpu
    peak = measure(call, device, known)
    if forward is not None:
        peak = replace(peak, saved_bytes=measure_saved(forward, device, known))
    if peak.peak_bytes is None or peak.output_bytes is None:
        return peak
    # outputs that others than torch allocated (numpy's) are there all the same
    whole = max(peak.peak_bytes, peak.output_bytes)
    return replace(peak, peak_bytes=whole, workspace_bytes=whole - peak.output_bytes)


def measure_saved(forward: Call, device: str, known: dict[int, int] | None = None) -> int:
    """Bytes alive after a forward pass beside its outputs: what it keeps for the backward pass."""
    outputs: dict[int, int] = {}

    def keep() -> None:
        nonlocal outputs
        result = forward()
        outputs = _storages(result, known)
        kept.append(result)

    kept: list[object] = []
    forward()
    if device.partition(":")[0] == "cpu":
        _, live_bytes = _allocated(keep)
    else:
        import torch

        _settle_gpu(torch, device)
        before = _requested(torch, device, "current")
        keep()
        torch.cuda.synchronize(device)
        live_bytes = _requested(torch, device, "current") - before
    kept.clear()
    return max(0, live_bytes - sum(outputs.values()))


def _storages(value: Any, known: dict[int, int] | None = None) -> dict[int, int]:
    """Bytes of each storage behind the tensors of a nested value, by address, without those in `known`."""
    import torch
    from torch.utils._pytree import tree_leaves

    found: dict[int, int] = {}
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
            storage = leaf.untyped_storage()
            if storage.nbytes() and storage.data_ptr() not in (known or {}):
                found[storage.data_ptr()] = storage.nbytes()
    return found


# GPU


def _on_gpu(call: Call, device: str, known: dict[int, int]) -> PeakMemory:
    import torch

    _settle_gpu(torch, device)
    resident = _requested(torch, device, "current")
    call()
    _settle_gpu(torch, device)
    kept = max(0, _requested(torch, device, "current") - resident)
    call()  # brings back what _settle_gpu let go of, cuBLAS's workspace above all
    torch.cuda.synchronize(device)
    gc.collect()
    torch.cuda.empty_cache()
    before = _requested(torch, device, "current")
    torch.cuda.reset_peak_memory_stats(device)
    result = call()
    torch.cuda.synchronize(device)
    peak = _requested(torch, device, "peak") - before + kept
    outputs = sum(_storages(result, known).values())
    return PeakMemory(peak_bytes=peak, output_bytes=outputs)


def _settle_gpu(torch: Any, device: str) -> None:
    """Let go of all that nobody holds, cuBLAS's workspaces among it."""
    torch.cuda.synchronize(device)
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


def _requested(torch: Any, device: str, which: str) -> int:
    """Bytes that callers asked of the caching allocator, before its rounding: `current` or `peak`."""
    return int(torch.cuda.memory_stats(device).get(f"requested_bytes.all.{which}", 0))


# CPU


def _on_cpu(call: Call, device: str, known: dict[int, int]) -> PeakMemory:
    outputs: dict[int, int] = {}

    def again() -> None:
        nonlocal outputs
        outputs = _storages(call(), known)

    _, kept_bytes = _allocated(call)
    peak_bytes, _ = _allocated(again)
    peak_bytes += max(0, kept_bytes)
    resident_bytes = _resident_peak(call)
    if resident_bytes is None:
        reason = "resident pages could not be read (/proc/self/clear_refs): memory taken outside torch's allocator is not seen"
        return PeakMemory(peak_bytes=peak_bytes, output_bytes=sum(outputs.values()), reason=reason)
    if resident_bytes > 1.05 * peak_bytes + _resident_error():
        peak_bytes = resident_bytes
    return PeakMemory(peak_bytes=peak_bytes, output_bytes=sum(outputs.values()))


def _allocated(call: Call) -> tuple[int, int]:
    """By torch's allocator events: the peak of one call above its start, and the bytes still alive after it and its garbage."""
    # torch.profiler's own front imports all of torch._inductor on its first use: a second that this one does not cost
    from torch.autograd.profiler import profile

    gc.collect()
    with profile(use_kineto=True, profile_memory=True) as profiler:
        call()
        gc.collect()
    results = profiler.kineto_results
    if results is None:
        raise RuntimeError("torch's profiler returned nothing")
    live = peak = 0
    for event in sorted((event for event in results.events() if event.name() == _MEMORY_EVENT), key=lambda event: event.start_ns()):
        if event.device_type().name == "CPU":
            live += event.nbytes()
            peak = max(peak, live)
    return peak, live


def _resident_peak(call: Call) -> int | None:
    """Growth of resident pages during one call, at its highest; None where the kernel does not let us reset the mark."""
    call()
    gc.collect()
    _trim_heap()
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_bytes("VmRSS")
    except OSError:
        return None
    result = call()
    peak = _status_bytes("VmHWM")
    del result
    return None if before is None or peak is None else max(0, peak - before)


def _trim_heap() -> None:
    """Hand free heap pages back to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _status_bytes(field: str) -> int | None:
    found = re.search(rf"^{field}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _resident_error() -> int:
    """How far the kernel's cheap page counts may be off: a batch per core (mm counters are per-cpu), and two huge pages."""
    cores = os.cpu_count() or 1
    return max(32, 2 * cores) * cores * PAGE_BYTES + 4 * 2**20
