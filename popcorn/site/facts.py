"""What a record says, as sections of facts: label, value in words, and where it is unknown, why."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from popcorn.schema.measurement import Counters, Samples
from popcorn.schema.record import Record
from popcorn.site import words
from popcorn.units import UNKNOWN


@dataclass(frozen=True)
class Fact:
    """One line of a section."""

    label: str
    value: str
    note: str | None = None
    """A remark; the reason where the value is unknown."""

    @property
    def known(self) -> bool:
        """False for a dash."""
        return self.value != UNKNOWN


@dataclass(frozen=True)
class Section:
    """One card."""

    title: str
    source: str
    """The function or instrument that made its figures."""
    facts: list[Fact] = field(default_factory=list)
    reason: str | None = None
    """Why something in it is missing, in general."""

    @property
    def anchor(self) -> str:
        """Its id on the page: `speed-of-light`."""
        return self.title.partition(",")[0].lower().replace(" ", "-")

    @property
    def shown(self) -> list[Fact]:
        """What is known, in order; then what is not, a line a reason: ten dashes with one sentence ten times tell no more."""
        unknown: dict[str | None, list[str]] = {}
        for one in self.facts:
            if not one.known:
                unknown.setdefault(one.note, []).append(one.label)
        return [one for one in self.facts if one.known] + [Fact(", ".join(labels), UNKNOWN, note) for note, labels in unknown.items()]


def fact(label: str, value: Any, show: Callable[..., str] = str, note: str | None = None, unknown: str | None = None) -> Fact:
    """`note` where the value is known, `unknown` where it is not."""
    shown = UNKNOWN if value is None else show(value)
    return Fact(label, shown, (unknown or "not measured in this run") if shown == UNKNOWN else note)


def sections(record: Record) -> Iterator[Section]:
    """Every card of a judged kernel, in reading order."""
    verdict = record.verdict
    if record.measurement.timing is not None:
        yield timing(record)
        yield controls(record)
    if verdict.precision:
        yield precision(record)
    if verdict.correct:
        yield memory(record)
        yield launches(record)
        yield speed_of_light(record)
        yield roofline(record)
        yield stalls(record)
        yield energy(record)
    yield stages(record)
    yield machine(record)


def timing(record: Record) -> Section:
    """Both baselines, with intervals."""
    told = record.measurement.timing
    assert told is not None
    one, base, compiled = told.candidate, told.baseline, told.compiled
    no = told.compiled_reason or "not measured in this run"
    facts = [
        Fact("kernel runtime", words.sampled(one), "median over blocks, cold cache, 95 % interval"),
        Fact("eager runtime", words.sampled(base), "the reference as written, in turns with the kernel"),
        fact("torch.compile runtime", compiled, words.sampled, unknown=no),
        Fact("speedup over eager", words.times(told.speedup), "unproven" if told.control.fit is False else told.comparison),
        fact("speedup over torch.compile", told.speedup_compiled, words.times, "by way of eager, which each was timed in turns with", no),
        Fact("kernel mean / std", _pair(one), "raw samples"),
        Fact("eager mean / std", _pair(base), "raw samples"),
        Fact("kernel p10 / p90", f"{words.time(one.p10_s)} / {words.time(one.p90_s)}"),
        fact("kernel, caches warm", one.warm_time_s, words.time),
        fact("eager, caches warm", base.warm_time_s, words.time),
        fact("host time of a call", one.host_time_s, words.time, "what the host needs to issue it"),
        fact("first call in a process", one.first_call_s, words.time, "just-in-time compilation included"),
        fact("by the parent's own clock", told.parent_time_s, words.time, "the check on the clock of the kernel's process"),
        Fact("stopped by", "±1 % interval reached" if told.stopped_by == "interval" else "budget used up"),
    ]
    return Section("Timing", f"measure.timing · {told.method}", facts)


def controls(record: Record) -> Section:
    """What the machine showed about itself in the same run."""
    told = record.measurement.timing
    assert told is not None
    control = told.control
    why = control.reason or "no control was run"
    fit = None if control.fit is None else "yes" if control.fit else "no: the verdict stands, the speed claims nothing"
    facts = [
        fact("fit to measure", fit, unknown=why, note=control.reason),
        fact("reference against itself", control.aa, words.times, "its interval must hold 1×", why),
        fact(f"planted {control.plant:.3g}× slowdown", control.planted, words.times, "measured as", why),
        fact("noise", control.noise, lambda value: f"±{words.percent(value)}", "“faster” is not said within it", why),
    ]
    return Section("Controls", "worker.comparing · in the same run", facts)


def precision(record: Record) -> Section:
    """Errors of the output that came nearest to its bound; all outputs stand in a table."""
    several = len(record.verdict.precision) > 1
    one = max(record.verdict.precision, key=lambda one: (one.worst or 0.0) / one.bound if one.bound else 0.0)
    facts = [
        Fact("output", one.output[:60], "the one nearest to its bound; every output is in the table below") if several else None,
        fact("max abs error", one.max_abs_error, words.number, f"the reference's own: {words.number(one.reference_max_abs_error)}"),
        fact("mean abs error", one.mean_abs_error, words.number),
        fact("max rel error", one.max_rel_error, words.number),
        fact("mean rel error", one.mean_rel_error, words.number),
        fact("held against its bound", one.worst, words.number, f"allowed: {words.number(one.bound)}"),
        fact("max ulp", one.max_ulp, words.number) if one.max_ulp is not None else None,
        fact("cosine", one.cosine, lambda value: f"{value:.9g}") if one.cosine is not None else None,
    ]
    return Section(
        "Precision", f"verify.compare · truth in {record.verdict.truth_dtype or 'unknown precision'}", [one for one in facts if one]
    )


def memory(record: Record) -> Section:
    """Beyond what was resident."""
    told = record.measurement.memory
    facts = [
        fact("kernel peak", told.peak_bytes, words.size, "beyond inputs and weights", told.reason),
        fact("eager peak", told.baseline_peak_bytes, words.size, unknown=told.reason),
        fact("kernel / eager", told.ratio, words.ratio, "lower is better", told.reason),
        fact("workspace", told.workspace_bytes, words.size, "peak without outputs", told.reason),
        fact("outputs", told.output_bytes, words.size, unknown=told.reason),
    ]
    if record.case.gradient == "grad":
        facts.append(fact("saved for backward", told.saved_bytes, words.size, unknown=told.reason))
    return Section("Memory", "measure.memory", facts)


def launches(record: Record) -> Section:
    """Kernels of one call."""
    told = record.measurement.launches
    facts = [
        fact("kernel launches", told.kernels, words.whole, unknown=told.reason),
        fact("eager launches", told.baseline_kernels, words.whole, unknown=told.reason),
        fact("fusion ratio (eager / kernel)", told.fusion_ratio, words.ratio, unknown=told.reason),
        fact("copies and fills", told.copies, words.whole, unknown=told.reason),
        fact("total device time", told.device_time_s, words.time, unknown=told.reason),
        fact(
            "time outside torch's operators" if told.source == "dispatch" else "own code's share of it",
            told.custom_share,
            words.percent,
            unknown=told.track_reason or told.reason,
        ),
        fact("track", told.track, note=told.track_reason, unknown=told.track_reason or told.reason),
    ]
    return Section("Launches and fusion", f"measure.launches · {told.source or 'no source'}", facts)


def _counted(counters: Counters) -> str:
    of = f", the first {len(counters.kernels)} of {counters.of_kernels} kernels" if counters.of_kernels else ""
    return f"Nsight Compute, weighted by duration{of}"


def speed_of_light(record: Record) -> Section:
    """Both sources, never mixed."""
    told, counters = record.measurement.roofline, record.measurement.counters
    pipe = counters.kernels[0].dominant_pipe if counters.kernels else None
    facts = [
        fact("SOL", told.sol, words.percent, f"from {told.sol_source}", told.reason),
        fact("SOL by the model", told.sol_model, words.percent, "least bytes and flops over the ceilings", told.reason),
        fact("SOL by counters", told.sol_counters, words.percent, _counted(counters), counters.reason),
        fact("DRAM utilisation", counters.dram_utilisation, words.percent, unknown=counters.reason),
        fact("compute utilisation", counters.compute_utilisation, words.percent, unknown=counters.reason),
        fact("bound by", told.bound, unknown=told.reason),
        fact("dominant pipe", pipe, unknown=counters.reason),
        fact("floor of the time", told.floor_s, words.time, "no call can be faster here", told.reason),
    ]
    return Section("Speed of light", "measure.roofline, measure.counters", facts)


def roofline(record: Record) -> Section:
    """Rates against ceilings, occupancy and caches."""
    told, counters = record.measurement.roofline, record.measurement.counters
    first = counters.kernels[0] if counters.kernels else None
    why = counters.reason or ("the profile does not tell" if first else "no kernel was profiled")
    rates = first.flop_per_s if first else {}
    source = told.ceiling_source or "unknown source"
    facts = [
        fact("achieved bandwidth", told.bandwidth_bytes_per_s, lambda v: words.rate(v, "B"), "least bytes / time", told.reason),
        fact("peak bandwidth", told.peak_bandwidth_bytes_per_s, lambda v: words.rate(v, "B"), source, told.reason),
        fact("achieved compute", told.flop_per_s, lambda v: words.rate(v, "FLOP"), "declared flops / time", told.reason),
        fact(
            "peak compute", told.peak_flop_per_s, lambda v: words.rate(v, "FLOP"), f"{source}, {record.case.precision}, dense", told.reason
        ),
        fact("arithmetic intensity", told.arithmetic_intensity, lambda v: f"{words.number(v)} FLOP/B", unknown=told.reason),
        fact("ridge point", told.ridge_flop_per_byte, lambda v: f"{words.number(v)} FLOP/B", unknown=told.reason),
        *(fact(f"{name} pipe", value, lambda v: words.rate(v, "FLOP")) for name, value in sorted(rates.items())),
        fact("dominant pipe utilisation", first and first.dominant_pipe_utilisation, words.percent, unknown=why),
        fact("occupancy", counters.occupancy, words.percent, unknown=why),
        fact("L1 hit rate", counters.l1_hit, words.percent, unknown=why),
        fact("L2 hit rate", counters.l2_hit, words.percent, unknown=why),
        fact("load sectors / request", first and first.load_sectors_per_request, words.number, unknown=why),
        fact("store sectors / request", first and first.store_sectors_per_request, words.number, unknown=why),
        fact("registers / thread", first and first.registers_per_thread, words.whole, unknown=why),
        fact("shared memory / block", first and first.shared_bytes_per_block, words.size, unknown=why),
        fact("block size", first and first.block_size, words.whole, unknown=why),
        fact("grid size", first and first.grid_size, words.whole, unknown=why),
    ]
    longest = f" · {first.name[:60]}" if first and len(counters.kernels) > 1 else ""
    return Section("Roofline and occupancy", f"measure.roofline, measure.counters{longest}", facts)


def stalls(record: Record) -> Section:
    """Shares of all stall cycles."""
    counters = record.measurement.counters
    top = sorted(counters.stalls.items(), key=lambda pair: -pair[1])[:5]
    why = counters.reason or "no kernel was profiled"
    facts = [Fact(name, words.percent(share), "of all stall cycles") for name, share in top] or [Fact("stall reasons", UNKNOWN, why)]
    return Section("Warp stalls, top five", "measure.counters · Nsight Compute", facts)


def energy(record: Record) -> Section:
    """Joules of a call."""
    told = record.measurement.energy
    span = words.between(words.energy(told.low_j), words.energy(told.high_j)) if told.low_j is not None else None
    facts = [
        fact("energy of a call", told.energy_j, words.energy, span, told.reason),
        fact("eager", told.baseline_energy_j, words.energy, unknown=told.reason),
        fact("kernel / eager", told.ratio, words.ratio, "lower is better", told.reason),
        fact("mean power", told.power_w, lambda v: f"{v:.0f} W", unknown=told.reason),
        fact("idle power", told.idle_power_w, lambda v: f"{v:.0f} W", "not subtracted", told.reason),
        fact("burst", told.burst_s, words.time, unknown=told.reason),
    ]
    return Section("Energy", f"measure.energy · {told.source or 'no source'}", facts)


def stages(record: Record) -> Section:
    """Build, queue, work."""
    build, made = record.build, record.provenance
    how = "from the cache" if build.cached else build.tier and f"headers: {build.tier}"
    facts = [
        fact(
            "build", build.build_s or (0.0 if build.cached else None), words.time, how, build.reason or "nothing is built for this language"
        ),
        Fact("build lane", f"{words.time(made.build_lane.queue_s)} queued, {words.time(made.build_lane.run_s)} at work"),
        Fact("device lane", f"{words.time(made.device_lane.queue_s)} queued, {words.time(made.device_lane.run_s)} at work"),
        fact("from asking to record", made.wall_s, words.long_time),
        Fact(
            "made",
            words.date(made.made) + " UTC",
            f"Popcorn {made.harness}{', ' + made.git_sha[:10] if made.git_sha else ''} · {made.engine}",
        ),
        fact("sizes of the trials", made.sizes and made.sizes.replace("_", " "), unknown="older records do not say"),
        fact("seed", made.seed, note="secret until the verdict; the kernel never had it"),
        fact("seed commitment", made.seed_commitment, note="SHA-256 of the seed, made before the kernel ran"),
    ]
    return Section("Stages and seed", "worker.lanes, worker.seeds", facts)


def machine(record: Record) -> Section:
    """Where the numbers were taken."""
    told = record.machine
    cores = "multiprocessors" if told.kind != "cpu" else "cores"
    pairs = [
        ("device", told.device_name), ("device id", told.device_id), (cores, told.multiprocessors), ("threads", told.threads),
        ("memory", told.memory_bytes and words.size(told.memory_bytes)), ("cache evicted", told.l2_bytes and words.size(told.l2_bytes)),
        ("driver", told.driver), ("CUDA", told.cuda), ("torch", told.torch), ("triton", told.triton), ("python", told.python),
        ("compiler", told.compiler), ("nvcc", told.nvcc), ("power limit", told.power_limit_w and f"{told.power_limit_w:.0f} W"),
        ("clock when probed", told.sm_clock_hz and f"{told.sm_clock_hz / 1e6:,.0f} MHz"), ("memory clock", told.memory_clock_hz and f"{told.memory_clock_hz / 1e6:,.0f} MHz"),
        ("compute capability", told.compute_capability), ("copy, measured", told.bandwidth_bytes_per_s and words.rate(told.bandwidth_bytes_per_s, "B")),
        *((f"matrix product, {name}", words.rate(rate, "FLOP")) for name, rate in told.flop_per_s.items()), ("host", told.host),
    ]  # fmt: skip
    return Section("Machine", "devices.probe", [Fact(label, str(value)) for label, value in pairs if value is not None])


def _pair(samples: Samples) -> str:
    return f"{words.time(samples.mean_s)} / {words.time(samples.std_s)}"


def headline(record: Record) -> str:
    """One sentence: how good, or what went wrong."""
    told = record.measurement.timing
    if told is None:
        return record.verdict.reason or (
            "correct; no time was taken" if record.verdict.correct else words.outcome_word(record.verdict.outcome)
        )
    if told.control.fit is False:
        return f"{words.ratio(told.speedup.value)} against eager, unproven: the machine was not fit to measure"
    tail = {"faster": "faster than eager", "slower": "the speed of eager", "no difference": "eager: no difference that can be told"}
    unsure = "; no controls were run with it" if told.control.fit is None else ""
    return f"{words.ratio(told.speedup.value)} {tail[told.comparison]}{unsure}"
