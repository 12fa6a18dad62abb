"""What this device really reaches: bandwidth and flop rate, measured. torch is imported inside; run it in a clean process.

Bandwidth is the best of three streams far larger than the last cache: a copy (bytes read plus written), a reduction (read alone) and
a fill (written alone). Which of them is fastest differs by device, and a ceiling must not lie below what honest work reaches. Flop
rates are of square matrix products on random values: on zeros a GPU draws less power, clocks higher and shows a rate that no data
sees (13 % more on an H200). Each figure is the best of several repeats, since a disturbance can only lower it.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from pydantic import ValidationError

from popcorn.devices.host import last_level_cache_bytes
from popcorn.errors import HarnessFailure
from popcorn.schema.case import Frozen
from popcorn.schema.machine import Machine

GPU_PRECISIONS = ("float32", "tf32", "bfloat16", "float16", "float64")
CPU_PRECISIONS = ("float32", "float64", "bfloat16")
MIN_REPEATS = 3
_SMALLEST, _LARGEST = 512, 8192


class Ceilings(Frozen):
    """Rates that this device reached here."""

    bandwidth_bytes_per_s: float | None = None
    """Best memory bandwidth of the streams in `streams`."""
    streams: dict[str, float] = {}
    """Bytes per second of each stream: `copy` (read plus written), `read`, `fill`."""
    stream_bytes: int | None = None
    """Size of the buffer that was streamed."""
    flop_per_s: dict[str, float] = {}
    """Rate of a matrix product per precision, a multiply-add counted as two."""
    sizes: dict[str, int] = {}
    """Side of the square matrices per precision."""
    reasons: dict[str, str] = {}
    """Why a precision has no figure."""
    fit: bool = False
    """Whether a run whose controls passed measured them, now or earlier: who else measures cannot know that the machine was quiet."""
    device_id: str | None = None
    """The machine these belong to; set when saved."""
    torch: str | None = None
    """torch version; set when saved."""
    threads: int | None = None
    """CPU threads; None on a GPU."""


def measure_ceilings(device: str, seconds: float = 2.0) -> Ceilings:
    """Measure a torch device (`cpu`, `cuda:0`) in about `seconds`, a third for bandwidth, the rest for products.

    The time holds for all but the first repeats of slow products, which always run. Needs memory of some hundred MB on a CPU, 4 GB on
    a GPU, less where less is free.
    """
    import torch

    kind = torch.device(device).type
    if kind != "cpu":
        torch.cuda.set_device(device)  # events are made on the current device
    stream_bytes = _stream_bytes(torch, device)
    streams = _streams(torch, device, stream_bytes, seconds / 3)
    precisions = CPU_PRECISIONS if kind == "cpu" else GPU_PRECISIONS
    rates, sizes, reasons = {}, {}, {}
    for precision in precisions:
        try:
            rates[precision], sizes[precision] = _product(torch, device, precision, seconds * 2 / 3 / len(precisions))
        except RuntimeError as error:  # a precision that this device does not multiply, or no memory
            reasons[precision] = str(error).splitlines()[0][:200]
    return Ceilings(
        bandwidth_bytes_per_s=max(streams.values()),
        streams=streams,
        stream_bytes=stream_bytes,
        flop_per_s=rates,
        sizes=sizes,
        reasons=reasons,
        threads=torch.get_num_threads() if kind == "cpu" else None,
    )


def measure_in_child(device: str, seconds: float = 2.0) -> Ceilings:
    """The same in a process of its own, so that the caller stays free of torch. Raises `HarnessFailure` with the child's last words."""
    command = [sys.executable, "-m", "popcorn.devices.ceilings", device, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120 + 10 * seconds, check=False)
    if done.returncode != 0:
        raise HarnessFailure(f"measuring the ceilings of {device} failed: {done.stderr.strip()[-300:]}")
    return Ceilings.model_validate_json(done.stdout.splitlines()[-1])


def save_ceilings(ceilings: Ceilings, machine: Machine, folder: Path) -> Path:
    """Keep ceilings for a machine, torch version and thread count, and return the file.

    What was kept before stays wherever it is higher: a ceiling is the best that was ever reached, and a busy machine can only lower a
    measurement. Written aside and renamed, so a reader never sees half a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(machine, folder)
    kept = load_ceilings(machine, folder)
    named = (highest(kept, ceilings) if kept else ceilings).model_copy(
        update={"device_id": machine.device_id, "torch": machine.torch, "threads": machine.threads}
    )
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    aside.write_text(json.dumps(named.model_dump(), indent=1) + "\n")
    aside.replace(path)
    return path


def load_ceilings(machine: Machine, folder: Path) -> Ceilings | None:
    """Ceilings kept for this machine, torch version and thread count; None when there are none, or the file is not readable as such."""
    try:
        found = Ceilings.model_validate_json(_path(machine, folder).read_text())
    except (OSError, ValidationError, UnicodeDecodeError):
        return None
    same = (found.device_id, found.torch, found.threads) == (machine.device_id, machine.torch, machine.threads)
    return found if same else None


def highest(kept: Ceilings, new: Ceilings) -> Ceilings:
    """The higher of two measurements of one machine, figure by figure."""
    streams = {name: max(kept.streams.get(name, 0.0), new.streams.get(name, 0.0)) for name in kept.streams | new.streams}
    rates = kept.flop_per_s | {name: rate for name, rate in new.flop_per_s.items() if rate > kept.flop_per_s.get(name, 0.0)}
    sizes = {name: (new if rates[name] == new.flop_per_s.get(name) else kept).sizes.get(name, 0) for name in rates}
    return new.model_copy(
        update={
            "bandwidth_bytes_per_s": max(streams.values(), default=None),
            "streams": streams,
            "flop_per_s": rates,
            "sizes": sizes,
            "reasons": {name: reason for name, reason in new.reasons.items() if name not in rates},
            "fit": kept.fit or new.fit,
        }
    )


def with_ceilings(machine: Machine, ceilings: Ceilings) -> Machine:
    """The machine with its measured ceilings filled in."""
    return machine.model_copy(update={"bandwidth_bytes_per_s": ceilings.bandwidth_bytes_per_s, "flop_per_s": ceilings.flop_per_s})


def _path(machine: Machine, folder: Path) -> Path:
    parts = [machine.device_id, f"torch-{machine.torch}", *([f"{machine.threads}t"] if machine.threads else [])]
    return folder / (re.sub(r"[^A-Za-z0-9._+-]", "_", "-".join(parts)) + ".json")


def _stream_bytes(torch: Any, device: str) -> int:
    """A buffer size well above the last cache, and within a quarter of the free memory (there are two)."""
    if torch.device(device).type == "cpu":
        free, cache = psutil.virtual_memory().available, last_level_cache_bytes() or 0
        # four times it; of a processor's 480 MB, of which a virtual machine has a part, twice
        wanted = max(min(4 * cache, 2**29), 2 * cache, 64 * 2**20)
    else:
        free, _ = torch.cuda.mem_get_info(device)
        wanted = 2**31
    return max(2**20, min(wanted, free // 4) // 4096 * 4096)


def _streams(torch: Any, device: str, stream_bytes: int, seconds: float) -> dict[str, float]:
    # a GPU's power, and so its clock, is a matter of the values; drawing a gigabyte of them takes a CPU seconds
    source = torch.full((stream_bytes // 4,), 1.5) if torch.device(device).type == "cpu" else torch.randn(stream_bytes // 4, device=device)
    target = torch.zeros_like(source)
    streams: dict[str, tuple[Callable[[], object], int]] = {
        "copy": (lambda: target.copy_(source), 2 * stream_bytes),
        "read": (lambda: source.sum(), stream_bytes),
        "fill": (lambda: target.fill_(1.5), stream_bytes),
    }
    return {name: moved / _fastest(torch, device, call, seconds / len(streams)) for name, (call, moved) in streams.items()}


def _product(torch: Any, device: str, precision: str, seconds: float) -> tuple[float, int]:
    """Best rate of a square product that fills the device, and its side: doubled while a repeat still fits the time."""
    dtype = torch.float32 if precision == "tf32" else getattr(torch, precision)
    with _tf32(torch, precision == "tf32"):
        side, best, best_side = _SMALLEST, 0.0, _SMALLEST
        started = time.perf_counter()
        while True:
            a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
            left_s = seconds - (time.perf_counter() - started)
            took_s = _fastest(torch, device, partial(torch.matmul, a, b), left_s if side == _LARGEST else min(left_s, seconds / 8))
            if 2 * side**3 / took_s > best:
                best, best_side = 2 * side**3 / took_s, side
            left_s = seconds - (time.perf_counter() - started)
            if side == _LARGEST or 8 * took_s * (MIN_REPEATS + 1) > left_s:
                return best, best_side
            side *= 2


def _fastest(torch: Any, device: str, call: Callable[[], object], seconds: float) -> float:
    """Shortest time of one call in seconds over at least three repeats, after a warm-up; events on a GPU, the clock on a CPU."""
    gpu = torch.device(device).type != "cpu"
    call()
    best, repeats, deadline = float("inf"), 0, time.perf_counter() + seconds
    while repeats < MIN_REPEATS or time.perf_counter() < deadline:
        if gpu:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            torch.cuda.synchronize(device)
            took_s = start.elapsed_time(end) * 1e-3
        else:
            started = time.perf_counter()
            call()
            took_s = time.perf_counter() - started
        best, repeats = min(best, took_s), repeats + 1
    return best


@contextmanager
def _tf32(torch: Any, allowed: bool) -> Iterator[None]:
    """float32 products with or without tf32, put back afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


if __name__ == "__main__":
    print(measure_ceilings(sys.argv[1], float(sys.argv[2])).model_dump_json())
