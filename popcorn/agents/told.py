"""A record as short text for a model: what failed, how fast, which limit. Figures with their units, unknowns with their reasons."""

from typing import TYPE_CHECKING, Any

from popcorn.agents.tools.answer import Answer, cut
from popcorn.schema.measurement import Measurement
from popcorn.units import show_bytes, show_energy, show_percent, show_rate, show_ratio, show_time

if TYPE_CHECKING:
    from popcorn.schema.record import Build, Record

_MOST_MESSAGES = 12


def answer_of(record: "Record", lines: list[str]) -> Answer:
    """The answer of a tool whose work is an evaluation."""
    timing, lanes = record.measurement.timing, record.provenance
    return Answer(
        text=cut("\n".join(line for line in lines if line)),
        ok=record.verdict.correct,
        data=_data(record),
        record_id=record.id,
        outcome=record.verdict.outcome,
        speedup=timing.speedup.value if timing is not None else None,
        queue_s=lanes.build_lane.queue_s + lanes.device_lane.queue_s,
        run_s=lanes.build_lane.run_s + lanes.device_lane.run_s,
    )


def build_lines(build: "Build") -> list[str]:
    """The compiler's messages, errors first."""
    order = {"error": 0, "warning": 1, "note": 2}
    messages = sorted(build.diagnostics, key=lambda one: order.get(one.severity, 3))
    lines = [f"{one.file or 'kernel'}:{one.line or '?'}: {one.severity}: {one.message}" for one in messages[:_MOST_MESSAGES]]
    left = len(messages) - _MOST_MESSAGES
    return [*lines, *([f"and {left} more messages"] if left > 0 else [])]


def precision_lines(record: "Record") -> list[str]:
    """Errors against float64 truth, beside what is allowed."""
    return [
        f"{row.output}: error {row.worst:.3g} of {row.bound:.3g} allowed (relative to the truth's scale)"
        for row in record.verdict.precision[:6]
        if row.worst is not None and row.bound is not None
    ]


def measured_lines(record: "Record") -> list[str]:
    """Time, speedup with its interval, memory, launches, energy."""
    measured = record.measurement
    timing = measured.timing
    if timing is None:
        return []
    speedup = timing.speedup
    lines = [
        f"time {show_time(timing.candidate.time_s)} · eager {show_time(timing.baseline.time_s)} · speedup {show_ratio(speedup.value)} "
        f"[{show_ratio(speedup.low)}, {show_ratio(speedup.high)}]: {timing.comparison}",
    ]
    if timing.speedup_compiled is not None:
        lines.append(f"against torch.compile {show_ratio(timing.speedup_compiled.value)}")
    if timing.control.fit is False:
        lines.append(f"the machine was too noisy for a claim: {timing.control.reason}")
    memory, launches = measured.memory, measured.launches
    if memory.peak_bytes is not None:
        lines.append(f"memory {show_bytes(memory.peak_bytes)} peak, {show_ratio(memory.ratio)} of eager's")
    if launches.kernels is not None:
        lines.append(f"launches {launches.kernels} (eager {launches.baseline_kernels}, fusion ratio {show_ratio(launches.fusion_ratio)})")
    if measured.energy.energy_j is not None:
        lines.append(f"energy {show_energy(measured.energy.energy_j)} a call, {show_ratio(measured.energy.ratio)} of eager's")
    if measured.roofline.sol is not None:
        lines.append(
            f"speed of light {show_percent(measured.roofline.sol)} ({measured.roofline.sol_source}), bound by {measured.roofline.bound}"
        )
    return lines


def roofline_lines(measured: Measurement) -> list[str]:
    """Where the call stands on the machine's roofline, and what the counters say."""
    roofline, counters = measured.roofline, measured.counters
    lines = []
    if roofline.floor_s is not None:
        lines.append(
            f"roofline: floor {show_time(roofline.floor_s)} ({roofline.ceiling_source} ceilings) · "
            f"{show_rate(roofline.bandwidth_bytes_per_s, 'B')} of {show_rate(roofline.peak_bandwidth_bytes_per_s, 'B')} · "
            f"{show_rate(roofline.flop_per_s, 'FLOP')} of {show_rate(roofline.peak_flop_per_s, 'FLOP')}"
        )
    if roofline.arithmetic_intensity is not None and roofline.ridge_flop_per_byte is not None:
        lines.append(f"intensity {roofline.arithmetic_intensity:.2g} FLOP per byte, ridge at {roofline.ridge_flop_per_byte:.3g}")
    if counters.reason:
        return [*lines, f"counters: none ({counters.reason})"]
    if counters.of_kernels:
        lines.append(f"counters: of the first {len(counters.kernels)} of the call's {counters.of_kernels} kernels")
    for kernel in counters.kernels[:3]:
        stalls = ", ".join(f"{name} {show_percent(share)}" for name, share in sorted(kernel.stalls.items(), key=lambda one: -one[1])[:5])
        lines.append(
            f"{kernel.name[:60]}: DRAM {show_percent(kernel.dram_utilisation)}, compute {show_percent(kernel.compute_utilisation)}, "
            f"occupancy {show_percent(kernel.occupancy)}, L1 {show_percent(kernel.l1_hit)}, L2 {show_percent(kernel.l2_hit)}, "
            f"{kernel.registers_per_thread} registers, {kernel.load_sectors_per_request} sectors a load request; stalls: {stalls}"
        )
    return lines


def changes(before: Measurement, after: Measurement) -> list[str]:
    """What differs between two profiles, by more than a hundredth."""
    pairs: list[tuple[str, float | None, float | None, Any]] = [
        ("time", _time_s(before), _time_s(after), show_time),
        ("speed of light", before.roofline.sol, after.roofline.sol, show_percent),
        ("memory", before.memory.peak_bytes, after.memory.peak_bytes, show_bytes),
        ("launches", before.launches.kernels, after.launches.kernels, str),
        ("occupancy", before.counters.occupancy, after.counters.occupancy, show_percent),
        ("L2 hits", before.counters.l2_hit, after.counters.l2_hit, show_percent),
    ]
    lines = []
    for name, old, new, show in pairs:
        if old and new is not None and abs(new / old - 1) > 0.01:
            lines.append(f"  {name}: {show(old)} → {show(new)} ({(new / old - 1) * 100:+.0f} %)")
    return lines or ["  nothing by more than a hundredth"]


def without_samples(measured: Measurement) -> Measurement:
    """The same without raw samples, which are in the record."""
    timing = measured.timing
    if timing is None:
        return measured
    sides = {side: getattr(timing, side) for side in ("candidate", "baseline", "compiled")}
    bare = {side: samples.model_copy(update={"blocks_s": ()}) for side, samples in sides.items() if samples is not None}
    return measured.model_copy(update={"timing": timing.model_copy(update=bare)})


def _time_s(measured: Measurement) -> float | None:
    return measured.timing.candidate.time_s if measured.timing is not None else None


def _data(record: "Record") -> dict[str, Any]:
    """Verdict and headline figures; the whole record is in the store under its id."""
    timing, roofline = record.measurement.timing, record.measurement.roofline
    figures: dict[str, Any] = {"record_id": record.id, "outcome": record.verdict.outcome, "reason": record.verdict.reason}
    if timing is not None:
        figures |= {
            "time_s": timing.candidate.time_s, "baseline_time_s": timing.baseline.time_s, "speedup": timing.speedup.model_dump(),
            "comparison": timing.comparison, "fit": timing.control.fit, "sol": roofline.sol, "sol_source": roofline.sol_source, "bound": roofline.bound,
        }  # fmt: skip
    return {name: value for name, value in figures.items() if value is not None}
