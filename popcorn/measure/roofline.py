"""How near the limit of the machine one call comes, and which limit. Pure functions. Imports without torch.

Speed of light by the model (roofline: Williams, Waterman and Patterson, CACM 52(4), 2009): the problem declares the fewest bytes that
must move and the operations that must be done; the floor is max(bytes / bandwidth, flops / peak) and `sol_model` = floor / time. Wasted
traffic cannot raise it. By counters: the larger of DRAM and compute utilisation, as Nsight Compute saw them. The two are never mixed.
Ceilings are those measured on this device, else dense datasheet figures, else unknown; never a rate with sparsity.
"""

from dataclasses import dataclass
from typing import Literal

from popcorn.devices.specs import Spec
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Bound, Counters, Kernel, Roofline, SolSource
from popcorn.units import show_time

LATENCY_S = 5e-6
"""Device time below which a call is bound by latency whatever it does: launches and waves, not bytes or operations."""
LOW_OCCUPANCY = 0.125
LOW_UTILISATION = 0.4
"""A kernel with fewer active warps than the first and neither memory nor compute above the second waits for its own few warps."""
TOLERANCE = 0.05
"""How far below the floor a time may come by the spread of time and ceilings before it is a violation."""


@dataclass(frozen=True)
class Ceiling:
    """One limit of the machine and where the figure comes from."""

    value: float | None
    source: Literal["measured", "datasheet"] | None


def place(
    min_bytes: float | None,
    flops: float | None,
    time_s: float | None,
    precision: str,
    machine: Machine,
    spec: Spec | None = None,
    counters: Counters | None = None,
    kernels: tuple[Kernel, ...] = (),
) -> Roofline:
    """Place one call on the machine's roofline.

    `min_bytes` and `flops` are the problem's declared least, `time_s` the device time per call, `precision` a `Case.precision`, `spec`
    the datasheet row where there is one, `kernels` the call's breakdown (used for the latency bound: when there are records, their sum
    is the device time). A model speed of light above 1 is not clamped: it becomes None with the reason, and the caller decides with
    `impossible_below` and `under_the_floor` whether that is a violation.
    """
    bandwidth, peak = ceilings(precision, machine, spec)
    floor_s = floor(min_bytes, flops, bandwidth.value, peak.value)
    sol_counters = _from_counters(counters)
    sol_model, reason = _from_model(floor_s, time_s, min_bytes, flops, bandwidth, peak, precision)
    source: SolSource | None = "counters" if sol_counters is not None else "model" if sol_model is not None else None
    ridge = peak.value / bandwidth.value if peak.value and bandwidth.value else None
    intensity = flops / min_bytes if flops is not None and min_bytes else None
    sources = {ceiling.source for ceiling in (bandwidth, peak) if ceiling.source}
    return Roofline(
        sol=sol_counters if source == "counters" else sol_model,
        sol_source=source,
        sol_counters=sol_counters,
        sol_model=sol_model,
        bound=_bound(intensity, ridge, min_bytes, flops, time_s, counters, kernels),
        min_bytes=min_bytes,
        flops=flops,
        floor_s=floor_s,
        bandwidth_bytes_per_s=min_bytes / time_s if min_bytes and time_s else None,
        flop_per_s=flops / time_s if flops and time_s else None,
        arithmetic_intensity=intensity,
        ridge_flop_per_byte=ridge,
        peak_bandwidth_bytes_per_s=bandwidth.value,
        peak_flop_per_s=peak.value,
        ceiling_source="datasheet" if "datasheet" in sources else "measured" if sources else None,
        reason=reason,
    )


def under_the_floor(time_s: float | None, floor_s: float | None, tolerance: float = TOLERANCE) -> bool:
    """True when a time is shorter than the machine allows for the declared work, by more than the tolerance: not a triumph but a fault.

    Unknown times and floors are never under. The floor is only as good as the declared bytes and the ceiling: data that stays in the
    cache may honestly be faster, so the caller must measure cold, or declare the bytes for the warm case.
    """
    return time_s is not None and floor_s is not None and time_s < floor_s * (1 - tolerance)


def impossible_below(min_bytes: float | None, flops: float | None, precision: str, machine: Machine, spec: Spec | None) -> float | None:
    """The floor to hold against a suspect: from the higher of the measured and the datasheet ceiling.

    A measured ceiling may lie low (a busy machine, a short burst), and honest work would then look impossible; `Roofline.floor_s` uses
    the measured one, since that is what a speed of light here means.
    """
    bandwidth = max(machine.bandwidth_bytes_per_s or 0.0, spec.bandwidth_bytes_per_s if spec else 0.0)
    peak = max(machine.flop_per_s.get(precision, 0.0), spec.dense_flop_per_s.get(precision, 0.0) if spec else 0.0)
    return floor(min_bytes, flops, bandwidth, peak)


def ceilings(precision: str, machine: Machine, spec: Spec | None) -> tuple[Ceiling, Ceiling]:
    """Bandwidth in bytes/s and dense flop rate for a precision, each measured here, else from the datasheet, else unknown."""
    return (
        _first(machine.bandwidth_bytes_per_s, spec.bandwidth_bytes_per_s if spec else None),
        _first(machine.flop_per_s.get(precision), spec.dense_flop_per_s.get(precision) if spec else None),
    )


def floor(min_bytes: float | None, flops: float | None, bandwidth: float | None, peak: float | None) -> float | None:
    """Shortest possible time in seconds; of the limits that are known, the later. None when neither is."""
    limits = [amount / rate for amount, rate in ((min_bytes, bandwidth), (flops, peak)) if amount and rate]
    return max(limits, default=None)


def _first(measured: float | None, datasheet: float | None) -> Ceiling:
    if measured:
        return Ceiling(measured, "measured")
    return Ceiling(datasheet, "datasheet") if datasheet else Ceiling(None, None)


def _from_counters(counters: Counters | None) -> float | None:
    if counters is None:
        return None
    known = [share for share in (counters.dram_utilisation, counters.compute_utilisation) if share is not None]
    return max(known, default=None)


def _from_model(
    floor_s: float | None,
    time_s: float | None,
    min_bytes: float | None,
    flops: float | None,
    bandwidth: Ceiling,
    peak: Ceiling,
    precision: str,
) -> tuple[float | None, str | None]:
    """The model's speed of light, and why it is missing or rests on less than both limits."""
    if time_s is None:
        return None, "no device time"
    if not min_bytes and not flops:
        return None, "the problem declares neither bytes nor flops"
    if floor_s is None:
        return None, f"neither a measured nor a datasheet ceiling is known for {precision} on this device"
    sol = floor_s / time_s if time_s > 0 else float("inf")
    if sol > 1:
        return None, f"faster than the floor of {show_time(floor_s)}: {sol:.3g} × the speed of light for the declared work"
    missing = [what for what, amount, ceiling in (("bandwidth", min_bytes, bandwidth), (f"{precision} flop rate", flops, peak))
               if amount and ceiling.value is None]  # fmt: skip
    return sol, f"the floor leaves out an unknown ceiling: {missing[0]}" if missing else None


def _bound(
    intensity: float | None,
    ridge: float | None,
    min_bytes: float | None,
    flops: float | None,
    time_s: float | None,
    counters: Counters | None,
    kernels: tuple[Kernel, ...],
) -> Bound | None:
    """Latency when too short or too few warps to reach a limit; else what counters say; else what the declared intensity says."""
    device_s = sum(kernel.time_s for kernel in kernels) if kernels else time_s
    if device_s is not None and device_s < LATENCY_S:
        return "latency"
    dram, compute = (counters.dram_utilisation, counters.compute_utilisation) if counters else (None, None)
    if dram is not None and compute is not None:
        occupancy = counters.occupancy if counters else None
        if occupancy is not None and occupancy < LOW_OCCUPANCY and max(dram, compute) < LOW_UTILISATION:
            return "latency"
        return "memory" if dram >= compute else "compute"
    if intensity is not None and ridge is not None:
        return "memory" if intensity < ridge else "compute"
    return "memory" if min_bytes and not flops else None
