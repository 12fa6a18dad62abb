"""What a record says, in words: one function a subject. Numbers through popcorn.units, unknown as a dash with its reason."""

from popcorn.cli.plain import plain
from popcorn.schema.measurement import Energy, Interval, Launches, Measurement, Memory, Ranks, Roofline, Samples, Timing
from popcorn.schema.record import Record
from popcorn.schema.verdict import Precision
from popcorn.units import UNKNOWN, show_bytes, show_energy, show_percent, show_rate, show_ratio, show_time

NEAR = 0.03
"""A speedup that differs by more from the quotient of the two times is explained."""
WARM_ABOVE = 1.25
"""A warm time this much above the cold one is remarked on: below it lies what two blocks of one run differ by anyway."""


def unknown(reason: str | None) -> str:
    """A dash with its reason."""
    return f"{UNKNOWN} {plain(reason or 'no reason was recorded', 200)}"


def ratio_between(interval: Interval) -> str:
    """`3.14× [3.10×, 3.18×]`."""
    return f"{show_ratio(interval.value)} [{show_ratio(interval.low)}, {show_ratio(interval.high)}]"


def seconds_between(interval: Interval) -> str:
    """`9.60 µs [9.55 µs, 9.70 µs]`."""
    return f"{show_time(interval.value)} [{show_time(interval.low)}, {show_time(interval.high)}]"


def time_between(samples: Samples) -> str:
    """`[9.55 µs, 9.70 µs]`."""
    return f"[{show_time(samples.low_s)}, {show_time(samples.high_s)}]"


def comparison(timing: Timing) -> str:
    """The headline: faster, slower or no difference, against eager; only the ratio where the run is unfit to claim any of them."""
    if timing.control.fit is False:
        return f"{ratio_between(timing.speedup)} against eager, unproven"
    if timing.comparison == "no difference":
        return f"no difference from eager that can be told: {ratio_between(timing.speedup)}"
    return f"{ratio_between(timing.speedup)} {'faster than eager' if timing.comparison == 'faster' else 'the speed of eager, slower'}"


def setting(record: Record) -> str:
    """Case, precision, gradients."""
    direction = "forward and gradients" if record.case.gradient == "grad" else "forward"
    return f"{record.case.id} · {record.case.precision} · {direction}"


def device(record: Record) -> str:
    """The machine in a line."""
    machine = record.machine
    parts = [f"{plain(machine.device_name, 60)} ({plain(machine.device_id, 60)})", f"torch {plain(machine.torch or UNKNOWN, 30)}"]
    parts += [f"{machine.threads} thread{'' if machine.threads == 1 else 's'}"] if machine.threads is not None else []
    return " · ".join(parts)


def candidate(record: Record) -> str:
    """Name, language, hash."""
    subject = record.subject
    return f"{plain(subject.name or subject.implementation, 80)} · {plain(subject.language, 20)} · {subject.candidate_hash or UNKNOWN}"


def trials(record: Record) -> str:
    """How much was judged."""
    verdict = record.verdict
    left_out = f", {len(verdict.trials_left_out)} could not decide" if verdict.trials_left_out else ""
    timed = f" · {verdict.timed_outputs_judged} of {verdict.timed_calls} timed outputs judged" if verdict.timed_calls else ""
    truth = f" · truth in {verdict.truth_dtype}" if verdict.truth_dtype else ""
    reason = f" ({plain(verdict.truth_reason, 120)})" if verdict.truth_reason else ""
    if not verdict.trials and not verdict.trials_left_out:
        return "none was reached"
    return f"{verdict.trials_passed} of {verdict.trials} passed{left_out}{timed}{truth}{reason}"


def precision(outputs: tuple[Precision, ...]) -> str:
    """The output nearest to its bound, or past it."""
    known = [one for one in outputs if one.worst is not None and one.bound]
    if not known:
        return unknown("nothing was compared with a bound")
    worst = max(known, key=lambda one: (one.worst or 0.0) / (one.bound or 1.0))
    others = f", worst of {len(outputs)} outputs and gradients" if len(outputs) > 1 else ""
    largest = f" · absolute {worst.max_abs_error:.3g}" if worst.max_abs_error is not None else ""
    reference = f", the reference's {worst.reference_max_abs_error:.3g}" if worst.reference_max_abs_error is not None else ""
    return f"{plain(worst.output, 60)}: relative error {worst.worst:.3g}, {worst.bound:.3g} allowed{others}{largest}{reference}"


def memory(found: Memory) -> str:
    """Peak, workspace, ratio."""
    if found.peak_bytes is None:
        return unknown(found.reason)
    text = f"{show_bytes(found.peak_bytes)} peak, {show_bytes(found.workspace_bytes)} of it workspace"
    text += f" · eager {show_bytes(found.baseline_peak_bytes)} · ratio {show_ratio(found.ratio)}"
    saved = f" · {show_bytes(found.saved_bytes)} kept for backward" if found.saved_bytes is not None else ""
    return text + saved + (f" · {plain(found.reason, 120)}" if found.reason else "")


def launches(found: Launches) -> str:
    """Kernels, copies, fusion."""
    if found.kernels is None:
        return unknown(found.reason)
    what = ("operator" if found.source == "dispatch" else "kernel") + ("" if found.kernels == 1 else "s")
    copies = f" and {found.copies} cop{'y' if found.copies == 1 else 'ies'}" if found.copies else ""
    text = f"{found.kernels} {what}{copies} · eager {UNKNOWN if found.baseline_kernels is None else found.baseline_kernels}"
    text += f" · fusion {show_ratio(found.fusion_ratio)}"
    where = "outside torch's operators" if found.source == "dispatch" else "in own kernels"
    return text + (f" · {show_percent(found.custom_share)} of the time {where}" if found.custom_share is not None else "")


def speed_of_light(found: Roofline) -> str:
    """The share of what this machine could do, from which source, bound by what."""
    if found.sol is None:
        return unknown(found.reason)
    source = (
        "hardware counters"
        if found.sol_source == "counters"
        else f"model: least bytes and flops, {found.ceiling_source or 'unknown'} ceilings"
    )
    bound = f"{found.bound}-bound" if found.bound else f"bound {UNKNOWN}"
    floor = f" · floor {show_time(found.floor_s)}" if found.floor_s is not None else ""
    rate = f" · {show_rate(found.bandwidth_bytes_per_s, 'B')} of {show_rate(found.peak_bandwidth_bytes_per_s, 'B')}"
    flop = f" · {show_rate(found.flop_per_s, 'FLOP')}" if found.flop_per_s is not None else ""
    low = (
        " · above 100 %: the ceiling was taken on a busy machine; popcorn doctor --measure"
        if found.sol > 1 and found.sol_source != "counters"
        else ""
    )
    return f"{show_percent(found.sol)} ({source}) · {bound}{floor}{rate}{flop}{low}"


def energy(found: Energy) -> str:
    """Joules a call."""
    if found.energy_j is None:
        return unknown(found.reason)
    between = f" [{show_energy(found.low_j)}, {show_energy(found.high_j)}]" if found.low_j is not None else ""
    power = f" · {found.power_w:.0f} W" if found.power_w is not None else ""
    return f"{show_energy(found.energy_j)}{between} · eager {show_energy(found.baseline_energy_j)} · ratio {show_ratio(found.ratio)}{power}"


def counters(measured: Measurement) -> str:
    """Hardware counters in a line."""
    found = measured.counters
    if not found.kernels:
        return unknown(found.reason)
    shares = {"memory": found.dram_utilisation, "compute": found.compute_utilisation, "occupancy": found.occupancy, "L2 hits": found.l2_hit}
    text = " · ".join(f"{name} {show_percent(share)}" for name, share in shares.items())
    stalls = ", ".join(f"{plain(name, 30)} {show_percent(share)}" for name, share in list(found.stalls.items())[:2])
    count = f"the first {len(found.kernels)} of {found.of_kernels}" if found.of_kernels else str(len(found.kernels))
    return f"{count} kernel{'s' if len(found.kernels) != 1 else ''} · {text}" + (f" · stalls: {stalls}" if stalls else "")


def ranks(found: Ranks) -> str:
    """Who took part, and the slowest of them by its own clock."""
    mine, theirs = max(found.candidate_s), max(found.reference_s)
    own = f"slowest by its own clock {show_time(mine)}, the reference's {show_time(theirs)}"
    return f"{found.world} processes over {found.backend} · {own}"


def controls(timing: Timing) -> str:
    """The machine's own controls in the same run."""
    control = timing.control
    if control.fit is None:
        return unknown(control.reason)
    same = f"A/A {ratio_between(control.aa)}" if control.aa else f"A/A {UNKNOWN}"
    planted = f"planted {control.plant:.3g}× measured as {ratio_between(control.planted)}" if control.planted else f"planted {UNKNOWN}"
    noise = f" · noise ±{show_percent(control.noise)}" if control.noise is not None else ""
    return f"{'fit' if control.fit else 'UNFIT'} · {same} · {planted}{noise}"


def build(record: Record) -> str:
    """Build time, and where the rest of the time went."""
    made = record.build
    took = f"build {UNKNOWN}" if made.build_s is None else "build from the cache" if made.cached else f"build {show_time(made.build_s)}"
    took = "nothing to build" if made.build_s == 0 and not made.cached else took
    tier = f" ({plain(made.tier, 20)} headers)" if made.tier else ""
    lanes = (record.provenance.build_lane, record.provenance.device_lane)
    queue, ran = sum(lane.queue_s for lane in lanes), sum(lane.run_s for lane in lanes)
    return f"{took}{tier} · {show_time(queue)} in queues, {show_time(ran)} at work · {show_time(record.provenance.wall_s)} in all"


def host(samples: Samples) -> str:
    """What a caller pays beside the device time."""
    return f"{show_time(samples.host_time_s)} to issue a call · {show_time(samples.first_call_s)} for the first call in a process"


def warm_above_cold(timing: Timing) -> str | None:
    """Which sides were slower with warm caches than with cold ones, and what that says; None where none was."""
    sides = {"candidate": timing.candidate, "eager": timing.baseline, "torch.compile": timing.compiled}
    odd = [
        name for name, one in sides.items()
        if one is not None and one.time_s is not None and one.warm_time_s is not None and one.warm_time_s > WARM_ABOVE * one.time_s
    ]  # fmt: skip
    if not odd:
        return None
    return f"{' and '.join(odd)}: slower warm than cold, which caches cannot cause; each was timed in blocks of its own, and the machine differed between them"


def paired(timing: Timing) -> str | None:
    """Where a speedup is not what the two times would give: each is the median of ratios of neighbouring turns, so that what drifts drops out."""
    for ratio, other in ((timing.speedup, timing.baseline), (timing.speedup_compiled, timing.compiled)):
        if (
            ratio
            and other
            and other.time_s
            and timing.candidate.time_s
            and abs(other.time_s / timing.candidate.time_s / ratio.value - 1) > NEAR
        ):
            return "paired by neighbouring turns, so not the quotient of the two times"
    return None


def method(timing: Timing) -> str:
    """How the time was taken, and what ended it."""
    ended = "the ±1 % interval was reached" if timing.stopped_by == "interval" else "the budget was used up"
    calls = sum(len(block) for launch in timing.candidate.blocks_s for block in launch)
    return f"{plain(timing.method, 120)}; {calls} samples; {ended}"
