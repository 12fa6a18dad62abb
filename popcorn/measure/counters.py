"""Hardware counters by Nsight Compute, run by the parent around a command. Imports without torch.

The command must call cudaProfilerStart around the one call that is to be counted. ncu's output goes to a file of its own, apart from
what the command prints, so that a kernel cannot print counters for itself; names in it are hostile text all the same, and are cut.
Only the metrics in the tables below are collected; one that a chip does not have is dropped and the rest are kept.
"""

import contextlib
import csv
import io
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popcorn.devices.host import find_ncu
from popcorn.schema.measurement import Counters, KernelCounters

NAME_LIMIT = 200
KERNEL_LIMIT = 2000
MOST_COUNTED = 24
"""Kernels of a call that are counted, the first ones: each is run again for every few metrics, a second of it where it has a quarter of a gigabyte to put back."""
TOP_STALLS = 5
_SAID = "said.txt"
ATTEMPTS = 6
_SCALES = {"nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1.0, "s": 1.0,
           "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # fmt: skip
"""ncu's units to SI; `--print-units base` leaves ns and bytes, older versions ignore it in places."""

SHARES = {
    "dram_utilisation": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "compute_utilisation": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1_hit": "l1tex__t_sector_hit_rate.pct",
    "l2_hit": "lts__t_sector_hit_rate.pct",
}
"""Field → metric in per cent, turned into a share in [0, 1]."""

NUMBERS = {
    "time_s": "gpu__time_duration.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "load_sectors_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "store_sectors_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
}
"""Field → metric taken as it is, in SI units."""

INTEGERS = {
    "registers_per_thread": ("launch__registers_per_thread",),
    "shared_bytes_per_block": ("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"),
    "block_size": ("launch__block_size",),
    "grid_size": ("launch__grid_size",),
}
"""Field → metrics whose sum it is."""

_EXECUTED = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_TENSOR = "sm__ops_path_tensor_src_{}.sum"
FLOPS = {
    "fp32": {_EXECUTED.format("fadd"): 1, _EXECUTED.format("fmul"): 1, _EXECUTED.format("ffma"): 2},
    "fp16": {_EXECUTED.format("hadd"): 1, _EXECUTED.format("hmul"): 1, _EXECUTED.format("hfma"): 2},
    "fp64": {_EXECUTED.format("dadd"): 1, _EXECUTED.format("dmul"): 1, _EXECUTED.format("dfma"): 2},
    "tensor": {_TENSOR.format(source): 1 for source in ("bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp8", "fp64", "int8")},
}
"""Pipe → metric → operations each count stands for (a fused multiply-add is two)."""

PIPES = {
    "alu": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "fp16": "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active",
    "fp64": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "xu": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
}
"""Compute pipe → its utilisation in per cent."""

STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
    "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def metrics() -> list[str]:
    """Every metric asked of ncu, in the order of the tables."""
    summed = [name for names in INTEGERS.values() for name in names]
    flops = [name for weights in FLOPS.values() for name in weights]
    return [*SHARES.values(), *NUMBERS.values(), *summed, *flops, *PIPES.values(), *(_STALL.format(name) for name in STALLS)]


@dataclass(frozen=True)
class Watched:
    """A command that runs under ncu, in a process group of its own, and where ncu writes."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> None:
        """End it, and what it started and left behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def watch(command: Sequence[str], env: Mapping[str, str], workdir: Path, wanted: Sequence[str] = (), attempt: int = 0) -> Watched | str:
    """Start a command under ncu and return at once; the reason where that cannot be. Who started it kills it, or hands it to `collect_counters`.

    ncu and an import of torch take seconds, none of them on the device: a command that then waits to be told what to do may be started early.
    """
    ncu = find_ncu()
    if ncu is None:
        return "ncu not found: install Nsight Compute (part of the CUDA toolkit) or add it to PATH"
    log = workdir / f"ncu-{attempt}.csv"
    log.unlink(missing_ok=True)
    try:
        with (workdir / _SAID).open("wb") as said:
            process = subprocess.Popen(
                [ncu, *_options(log, wanted or metrics()), *command], env=dict(env), cwd=workdir,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30)),
            )  # fmt: skip
    except OSError as error:
        return f"ncu could not be started: {error}"
    return Watched(process, log)


def collect_counters(
    command: Sequence[str], env: Mapping[str, str], timeout_s: float, workdir: Path, watched: Watched | str | None = None
) -> Counters:
    """Run a command under ncu and return the counters of the kernels that it profiles.

    `env` is the command's whole environment, `workdir` an existing private folder for ncu's output; `watched` is the same command where it was
    started before. Where there are no counters the result holds none and the reason, with the fix where one is known; nothing is raised for
    what ncu or the command does.
    """
    wanted = metrics()
    deadline = time.monotonic() + timeout_s
    for attempt in range(ATTEMPTS):
        if attempt or watched is None:
            watched = watch(command, env, workdir, wanted, attempt)
        if isinstance(watched, str):
            return Counters(reason=watched)
        problem, log = _wait(watched, deadline, timeout_s), watched.log
        text = log.read_text(errors="replace") if log.exists() else ""
        unknown = [name for name in wanted if _names_unknown_metric(text, name)]
        if unknown and len(unknown) < len(wanted):
            wanted = [name for name in wanted if name not in unknown]
            continue
        kernels = parse(text)
        return combine(kernels) if kernels else Counters(reason=explain(text, problem) + _last_words(workdir))
    return Counters(reason="this ncu does not know the metrics asked for, not even after leaving out those it named")


def _options(log: Path, wanted: Sequence[str]) -> list[str]:
    return [
        "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--profile-from-start", "off", "--launch-count", str(MOST_COUNTED),
        "--target-processes", "all", "--log-file", str(log), "--metrics", ",".join(wanted),
    ]  # fmt: skip


def _wait(watched: Watched, deadline: float, timeout_s: float) -> str | None:
    """Until it ends, or kill it; returns what went wrong."""
    try:
        code = watched.process.wait(deadline - time.monotonic())
        return f"the command ended with code {code} under ncu" if code else None
    except subprocess.TimeoutExpired:
        return f"ncu did not finish within {timeout_s:.3g} s"
    finally:
        watched.kill()


def _last_words(workdir: Path) -> str:
    """The last line that the profiled process wrote on stderr, at most 300 characters, or nothing."""
    try:
        with (workdir / _SAID).open("rb") as file:
            file.seek(max(0, (workdir / _SAID).stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f" It said: {said[:300]}" if said else ""


def _names_unknown_metric(text: str, name: str) -> bool:
    return any(
        line.startswith(("==ERROR==", "==WARNING==")) and re.search(rf"\b{re.escape(name)}(?![\w.])", line) for line in text.splitlines()
    )


def explain(text: str, problem: str | None) -> str:
    """Why there are no counters, from ncu's own messages, with the fix where one is known."""
    if "ERR_NVGPUCTRPERM" in text:
        return (
            "the driver lets only administrators read the counters (ERR_NVGPUCTRPERM): run as root, give the container CAP_SYS_ADMIN, "
            "or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        )
    if "LibraryNotLoaded" in text:
        return "ncu cannot load its library here (LibraryNotLoaded; seen under gVisor): use a machine with a kernel of its own"
    errors = [line.removeprefix("==ERROR==").strip() for line in text.splitlines() if line.startswith("==ERROR==")]
    if errors:
        return f"ncu: {errors[0][:200]}"
    return problem or "ncu profiled no kernel: the call launched none between cudaProfilerStart and cudaProfilerStop"


def parse(text: str) -> list[KernelCounters]:
    """Kernels from ncu's raw CSV page: a header row, a row of units, a row a launch. Lines of ncu's own (`==PROF== …`) are skipped.

    What is not a number (`n/a`, empty, `nan`) is None. Longest kernel first; text without a header gives an empty list.
    """
    lines = text.splitlines(keepends=True)
    start = next((index for index, line in enumerate(lines) if line.lstrip("\ufeff ").startswith('"ID","Process ID"')), None)
    if start is None:
        return []
    body = "".join(line for line in lines[start:] if not line.startswith("=="))
    csv.field_size_limit(2**20)
    reader = csv.reader(io.StringIO(body.replace("\0", "")))
    kernels: list[KernelCounters] = []
    try:
        header = [cell.strip("\ufeff ") for cell in next(reader)]
        units = dict(zip(header, next(reader, []), strict=False))
        for row in reader:
            if len(kernels) < KERNEL_LIMIT and len(row) == len(header) and "Kernel Name" in header:
                kernels.append(_kernel(dict(zip(header, row, strict=True)), units))
    except csv.Error:
        pass  # a torn or forged line ends the table; the kernels before it stand
    return sorted(kernels, key=lambda kernel: kernel.time_s or 0.0, reverse=True)


def _kernel(cells: Mapping[str, str], units: Mapping[str, str]) -> KernelCounters:
    def number(metric: str) -> float | None:
        value = _number(cells.get(metric, ""))
        return None if value is None else value * _SCALES.get(units.get(metric, "").strip(), 1.0)

    def whole(names: Iterable[str]) -> int | None:
        values = [number(name) for name in names]
        return None if any(value is None for value in values) else round(sum(value for value in values if value is not None))

    plain: dict[str, Any] = {field: number(metric) for field, metric in NUMBERS.items()}
    plain |= {field: _share(number(metric)) for field, metric in SHARES.items()}
    plain |= {field: whole(names) for field, names in INTEGERS.items()}
    pipes = {pipe: share for pipe, metric in PIPES.items() if (share := _share(number(metric))) is not None}
    busiest = max(pipes, key=lambda pipe: pipes[pipe]) if any(pipes.values()) else None
    return KernelCounters(
        name=cells["Kernel Name"][:NAME_LIMIT],
        **plain,
        flop_per_s=_flop_rates(number, plain["time_s"]),
        dominant_pipe=busiest,
        dominant_pipe_utilisation=pipes[busiest] if busiest else None,
        stalls=_normalised({name: number(_STALL.format(name)) or 0.0 for name in STALLS}),
    )


def _flop_rates(number: Callable[[str], float | None], time_s: float | None) -> dict[str, float]:
    """Rate by pipe; a pipe of which no counter was read is left out, one that did nothing is 0."""
    rates = {}
    for pipe, weights in FLOPS.items():
        counts = {metric: number(metric) for metric in weights}
        if time_s and any(count is not None for count in counts.values()):
            rates[pipe] = sum(weights[metric] * (count or 0.0) for metric, count in counts.items()) / time_s
    return rates


def combine(kernels: Sequence[KernelCounters]) -> Counters:
    """A whole call: times add up, shares are weighted by each kernel's duration and never summed, five stall reasons are kept."""
    longest_first = tuple(sorted(kernels, key=lambda kernel: kernel.time_s or 0.0, reverse=True))
    if not longest_first:
        return Counters(reason="no kernel was profiled")
    timed = [kernel for kernel in longest_first if kernel.time_s]
    stalls: dict[str, float] = {}
    stalled_s = sum(kernel.time_s or 0.0 for kernel in timed if kernel.stalls)
    for kernel in timed:
        for name, share in kernel.stalls.items():
            stalls[name] = stalls.get(name, 0.0) + share * (kernel.time_s or 0.0) / stalled_s
    top = sorted(stalls.items(), key=lambda item: item[1], reverse=True)[:TOP_STALLS]
    shares: dict[str, Any] = {field: _weighted(timed, field) for field in SHARES}
    return Counters(
        kernels=longest_first,
        time_s=sum(kernel.time_s or 0.0 for kernel in timed) if timed else None,
        **shares,
        stalls=dict(top),
        reason=None if timed else "ncu gave no kernel duration",
    )


def _weighted(kernels: Iterable[KernelCounters], field: str) -> float | None:
    pairs = [(kernel.time_s or 0.0, getattr(kernel, field)) for kernel in kernels if getattr(kernel, field) is not None]
    total_s = sum(time_s for time_s, _ in pairs)
    return min(1.0, sum(time_s / total_s * value for time_s, value in pairs)) if total_s > 0 else None


def _number(text: str) -> float | None:
    """A finite, non-negative number with or without thousands separators; None for anything else."""
    cleaned = text.strip().replace(",", "")
    if not re.fullmatch(r"\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,2})?", cleaned):
        return None
    return float(cleaned)


def _share(percent: float | None) -> float | None:
    """Per cent to a share; counters that pass 100 by a rounding are 1."""
    return None if percent is None else min(1.0, percent / 100)


def _normalised(values: Mapping[str, float]) -> dict[str, float]:
    """Shares that add up to 1, without the zeros; empty when there is nothing."""
    largest = max(values.values(), default=0.0)
    scaled = {name: value / largest for name, value in values.items() if value > 0} if largest > 0 else {}
    total = sum(scaled.values())
    return {name: value / total for name, value in scaled.items() if value / total > 0}
