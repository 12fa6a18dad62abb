"""What else does it cost? Memory, launches, energy, hardware counters of one call, for the candidate and the reference. Runs in the parent."""

import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from popcorn.devices.ceilings import Ceilings
from popcorn.devices.specs import find
from popcorn.measure.busy import busy_share
from popcorn.measure.energy import EnergyReading, NoMeter, find_meter, measure_energy
from popcorn.measure.launches import LONGEST
from popcorn.measure.roofline import impossible_below, place
from popcorn.measure.stats import compared
from popcorn.measure.steadiness import Watch
from popcorn.schema.measurement import Counters, Energy, Interval, Launches, Measurement, Memory, Roofline, Timing
from popcorn.units import show_time
from popcorn.verify.defences.clock import WARMER, most_calls
from popcorn.verify.defences.registry import look
from popcorn.verify.track import with_track
from popcorn.worker.judging import OUT_OF_FORM, Trials
from popcorn.worker.launch import Launch
from popcorn.worker.profiled import Profile
from popcorn.worker.refused import Refused
from popcorn.worker.session import Session
from popcorn.worker.taken import BASELINE, CANDIDATE, Pace, Taken

_BURST_S = 0.8
_WATCHED_BURST_S = 1.2
"""Where the driver's account of the device is asked about it: a sample every sixth of a second, and the first do not count."""
FAST_ALGORITHMS = 4.0
"""Strassen's and Winograd's ways need fewer operations than are declared; no known one that is used needs less than a quarter."""
_MOST_BYTES = 1 << 50
_MOST_LAUNCHES = 1_000_000


@dataclass(frozen=True)
class Pair:
    """The same figure for both sides."""

    candidate: dict[str, Any]
    baseline: dict[str, Any]


def count(session: Session, trials: Trials, timing: Timing, timed: Taken) -> Measurement:
    """Everything beside the time, from one more fresh launch of both sides. `timed` is what the timing left."""
    session.progress("memory, launches, energy")
    taken = Taken(steadiness=timed.steadiness, row_s=timed.row_s)
    launch = Launch(session, trials, taken, Pace(1, 1, 0.0), 20_000, [BASELINE, CANDIDATE], timed=False)
    try:
        memory = _memory(_ask_both(session, launch, {"do": "memory"}))
        session.check("counting", "peak_memory", memory.peak_bytes, trials.last["output_storage_bytes"], bool(trials.last["aliases"]))
        launches = with_track(_launches(_ask_both(session, launch, {"do": "launches"})), timing.candidate.warm_time_s)
        _require_track(session, launches)
        energy = _energy(session, launch, timing, launches)
    finally:
        launch.close()
    timing = at_least(timing, launch.busy_s)
    counters = _counters(session, launches)
    roofline = _roofline(session, timing, counters, launches)
    _refuse_the_impossible(session, timing, roofline)
    return Measurement(timing=timing, memory=memory, launches=launches, energy=energy, counters=counters, roofline=roofline)


def _require_track(session: Session, launches: Launches) -> None:
    """Raises Refused where the candidate's own code is asked for and a library does the work."""
    if session.request.track == "custom" and launches.track == "any":
        raise Refused(
            "rejected", f"track custom was asked for, and a library does the work: {launches.track_reason}", "counting", rule="track"
        )


def _refuse_the_impossible(session: Session, timing: Timing, roofline: Roofline) -> None:
    """A time that the machine's own ceilings do not allow. Only where the data is too large to have stayed in a cache, only against what a
    forward pass must do at the least, and only after the ceilings were measured again: a busy moment may have put them too low."""
    forward = 0.5 if session.gradient else 1.0  # declared for the forward pass, doubled for gradients by the oracle
    least_bytes = forward * roofline.min_bytes if roofline.min_bytes else None
    least_flops = roofline.flops / (3 if session.gradient else 1) / FAST_ALGORITHMS if roofline.flops else None
    large = (least_bytes or 0) >= 4 * session.bench.cache_bytes

    def floor_s() -> float | None:
        machine = session.bench.machine_with_ceilings()
        return impossible_below(least_bytes, least_flops, session.request.precision, machine, find(machine.device_name, machine.pci_id))

    time_s = timing.candidate.time_s
    if look("speed_of_light", time_s, floor_s(), large) is not None:
        _measure_ceilings(session, timing)
        if look("speed_of_light", timing.baseline.time_s, floor_s(), large) is not None:
            return  # the reference is under the floor too: the floor is wrong
    session.check("counting", "speed_of_light", time_s, floor_s(), large)


def _measure_ceilings(session: Session, timing: Timing) -> None:
    session.progress("this machine's ceilings")
    assert session.oracle is not None
    found = Ceilings.model_validate(session.ask(session.oracle, {"do": "ceilings", "seconds": 2.0})["ceilings"])
    session.bench.keep_ceilings(found.model_copy(update={"fit": _is_fit(timing)}))


def ceilings_wanted(known: Ceilings | None, timing: Timing) -> bool:
    """Where there are none, or a busy moment may have put them too low and the machine is quiet now."""
    return known is None or (_is_fit(timing) and not known.fit)


def _is_fit(timing: Timing) -> bool:
    return timing.control.fit is True


def _ask_both(session: Session, launch: Launch, message: dict[str, Any]) -> Pair:
    """One side after the other: kernels of two processes at once would lengthen each other."""
    candidate = session.ask_candidate(launch.children[CANDIDATE], message, "counting")
    return Pair(candidate, session.ask(launch.children[BASELINE], message))


def _memory(pair: Pair) -> Memory:
    mine, theirs = _whole(pair.candidate), _whole(pair.baseline)
    peak, baseline = mine.get("peak_bytes"), theirs.get("peak_bytes")
    return Memory(
        peak_bytes=peak,
        output_bytes=mine.get("output_bytes"),
        workspace_bytes=mine.get("workspace_bytes"),
        saved_bytes=mine.get("saved_bytes"),
        baseline_peak_bytes=baseline,
        ratio=peak / baseline if peak is not None and baseline else None,
        reason=str(pair.candidate["reason"])[:300] if pair.candidate.get("reason") else None,
    )


def _whole(reply: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in reply.items() if type(value) is int and 0 <= value < _MOST_BYTES}


def _launches(pair: Pair) -> Launches:
    try:
        mine, theirs = (Launches.model_validate(side["launches"]) for side in (pair.candidate, pair.baseline))
    except (ValidationError, KeyError):
        return Launches(reason=OUT_OF_FORM)
    if not _plausible(mine):
        return Launches(reason=OUT_OF_FORM, baseline_kernels=theirs.kernels)
    known = bool(mine.kernels) and theirs.kernels is not None
    return mine.model_copy(
        update={"baseline_kernels": theirs.kernels, "fusion_ratio": theirs.kernels / mine.kernels if known else None}  # type: ignore[operator]
    )


def _plausible(launches: Launches) -> bool:
    """The counts are the candidate's own word; here only that they are counts, and that no text of it fills the record."""
    counts = [launches.kernels, launches.copies, *(kernel.launches for kernel in launches.breakdown)]
    times = [launches.device_time_s, launches.call_s, *(kernel.time_s for kernel in launches.breakdown)]
    texts = [launches.source, launches.reason, *(kernel.name for kernel in launches.breakdown)]
    return (
        all(count is None or 0 <= count < _MOST_LAUNCHES for count in counts)
        and all(time_s is None or 0 <= time_s < 1e6 for time_s in times)
        and all(text is None or len(text) <= 500 for text in texts)
        and len(launches.breakdown) <= LONGEST
        and (launches.custom_share is None or 0 <= launches.custom_share <= 1)
    )


def at_least(timing: Timing, busy_s: float | None) -> Timing:
    """A timing whose candidate takes no less than the driver's account says, where there is one that nobody could be accused by. The account is of
    calls with warm caches: the reference shows what cold ones add."""
    if busy_s is None:
        return timing
    mine, theirs, control = timing.candidate, timing.baseline, timing.control
    busy_s *= max(1.0, theirs.time_s / (theirs.warm_time_s or theirs.time_s))
    factor = busy_s / mine.time_s
    longer = {name: getattr(mine, name) * factor for name in ("time_s", "low_s", "high_s", "p10_s", "p90_s", "mean_s")}
    speedup = _divided(timing.speedup, factor)
    compiled = _divided(timing.speedup_compiled, factor) if timing.speedup_compiled else None
    why = f"by the driver's account a call takes the device at least {show_time(busy_s)}, where {show_time(mine.time_s)} were claimed, and that counts"
    told = {
        "candidate": mine.model_copy(update=longer), "speedup": speedup, "speedup_compiled": compiled,
        "comparison": compared(speedup, control.noise or 0.0),
        "control": control.model_copy(update={"fit": False, "reason": "; ".join(filter(None, [why, control.reason]))}),
    }  # fmt: skip
    return timing.model_copy(update=told)


def _divided(ratio: Interval, by: float) -> Interval:
    return Interval(value=ratio.value / by, low=ratio.low / by, high=ratio.high / by)


def _energy(session: Session, launch: Launch, timing: Timing, launches: Launches) -> Energy:
    """Energy of a call of both sides. Whether it is asked for or not, on a GPU a burst holds the candidate's times against the driver's account."""
    seconds = {CANDIDATE: _WATCHED_BURST_S if _host_hides(session, timing) else _BURST_S, BASELINE: _BURST_S}
    if not session.request.energy:
        if session.bench.cuda:
            _burst_of_candidate(session, launch, timing, _burst(seconds[CANDIDATE], timing.candidate.time_s), launches)
        return Energy(reason="not asked for")
    meter = find_meter(session.bench.machine)
    if isinstance(meter, NoMeter):
        return Energy(reason=meter.reason)
    readings: dict[str, EnergyReading] = {}
    same = (session.same, session.request.precision, session.gradient)
    known = session.bench.energies.find(same)
    for side in (CANDIDATE, BASELINE):
        if side == BASELINE and known is not None:
            readings[side] = known
            continue
        once_s = (timing.candidate if side == CANDIDATE else timing.baseline).time_s

        def begin(seconds: float, side: str = side, once_s: float = once_s) -> Future[int]:
            message = _burst(seconds, once_s)
            if side == BASELINE:
                return session.between.run(lambda: int(session.ask(launch.children[side], message)["calls"]))
            return session.between.run(lambda: _burst_of_candidate(session, launch, timing, message, launches))

        readings[side] = measure_energy(begin, meter, seconds=seconds[side], before=readings.get(CANDIDATE, known))
    session.bench.energies.keep(same, readings[BASELINE])
    mine, theirs = readings[CANDIDATE], readings[BASELINE]
    return Energy(
        energy_j=mine.energy_j,
        low_j=mine.low_j,
        high_j=mine.high_j,
        baseline_energy_j=theirs.energy_j,
        ratio=mine.energy_j / theirs.energy_j if mine.energy_j and theirs.energy_j else None,
        power_w=mine.power_w,
        idle_power_w=mine.idle_power_w,
        burst_s=mine.burst_s,
        source=mine.source,
        reason=mine.reason or (f"of the reference: {theirs.reason}" if theirs.energy_j is None and theirs.reason else None),
    )


def _host_hides(session: Session, timing: Timing) -> bool:
    """Whether issuing a call is said to take longer than the device works on it: device time could hide behind that."""
    return session.bench.cuda and (timing.candidate.host_time_s or 0.0) > timing.candidate.time_s


def _burst(seconds: float, once_s: float) -> dict[str, Any]:
    """What a side is told: calls for so long, with about 20 ms of them between two looks at the clock."""
    return {"do": "burst", "seconds": seconds, "chunk": max(1, int(0.02 / once_s))}


def _burst_of_candidate(session: Session, launch: Launch, timing: Timing, message: dict[str, Any], launches: Launches) -> int:
    """Calls made, which its own times must allow; on a GPU the driver says how long the device was busy with them. Where somebody else's work was seen on
    the device the account tells of that, too, and accuses nobody; nor does it where kernels may have overlapped. What it says of a call, where that is more
    than was claimed, is the launch's to keep."""
    uuid, seconds = session.bench.machine.device_uuid, message["seconds"]
    watch = Watch(session.bench.machine, *session.processes()) if _host_hides(session, timing) and timing.control is not None else None
    began_s, start_s = time.monotonic(), time.time()
    calls = session.ask_candidate(launch.children[CANDIDATE], message, "counting", seconds + session.request.timeout_s).get("calls")
    wall_s, mine = time.monotonic() - began_s, timing.candidate
    warmer = WARMER if session.bench.cuda else 1.0
    session.check("counting", "clock", calls, seconds, mine.low_s, message["chunk"], warmer, find="find_in_burst")
    assert isinstance(calls, int)
    counted = calls
    if session.bench.cuda:
        # the host's pace moves by half from one minute to the next, and accuses nobody; but calls that it could not have issued make none look cheap,
        # nor do more than by the parent's clock fit in a row: the warm time is the candidate's own word
        once_s = max(min(mine.low_s, mine.warm_time_s or mine.low_s), mine.host_time_s or 0.0, launch.taken.row_s or 0.0)
        counted = min(calls, most_calls(seconds, once_s, message["chunk"]))
    if watch is None:
        return counted
    share = busy_share(uuid, start_s, start_s + wall_s)
    claimed = (mine.time_s, launches.device_time_s, launches.kernels)
    if not (launch.taken.steadiness.shared or watch.check(*session.processes()).shared):
        session.check("counting", "clock", share, wall_s, calls, *claimed, find="find_busy")  # an honest host may have issued them all
    if share is not None and look("clock", share, wall_s, counted, *claimed, certain=False, find="find_busy") is not None:
        launch.busy_s = share * wall_s / counted
    return counted


def _counters(session: Session, launches: Launches) -> Counters:
    """Nsight Compute around a process of its own, that runs the candidate once on inputs of the parent's choosing."""
    if not session.bench.cuda:
        return Counters(reason="hardware counters are read on NVIDIA GPUs only")
    if not session.request.counters:
        return Counters(reason="not asked for (--no-counters)")
    session.progress("hardware counters")
    if session.profile is None:
        session.profile = Profile(session)
    counters = session.profile.collect()
    if counters.kernels and launches.kernels and len(counters.kernels) < launches.kernels:
        return counters.model_copy(update={"of_kernels": launches.kernels})
    return counters


def _roofline(session: Session, timing: Timing, counters: Counters, launches: Launches) -> Roofline:
    oracle, bench = session.oracle, session.bench
    assert oracle is not None
    if ceilings_wanted(bench.ceilings, timing):
        _measure_ceilings(session, timing)
    bounds = session.ask(oracle, {"do": "bounds", "dims": session.opened["nominal"]})
    machine = bench.machine_with_ceilings()
    return place(
        min_bytes=bounds["min_bytes"],
        flops=bounds["flops"],
        time_s=timing.candidate.time_s,
        precision=session.request.precision,
        machine=machine,
        spec=find(machine.device_name, machine.pci_id),
        counters=counters,
        kernels=launches.breakdown if bench.cuda else (),
    )
