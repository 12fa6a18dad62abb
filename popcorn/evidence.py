"""What records say of a call: which of them count, and what they let us expect of an implementation. Imports without torch.

What counts as evidence is a record of an op's row: the same reference text, the same text of the implementation, a case of the same
class (kind of device, element type, gradient mode, contiguous or not). Its figure is the speedup over the reference, taken in turns in
one run, so drift of the machine cancels.

Between measured cases: through the times of all of them, each side is fitted as an overhead and a rate (measure/growth.py), whose ratio says how the
speedup turns from small calls to large ones. What the cases differ from that is interpolated in the logarithm over log sizes, among the four nearest,
weighted by the inverse square of the distance. Where this device has no rows, those of the nearest device serve, scaled by the ratio of
bandwidths or flop rates that the case is bound by; where no row has a time, the roofline of the declared bytes.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from popcorn.cases import distance, itemsize
from popcorn.devices.specs import find as find_spec
from popcorn.measure.growth import fit_growth
from popcorn.measure.roofline import ceilings, floor
from popcorn.ops.calls import Call
from popcorn.ops.registry import Op
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.schema.verdict import group

Source = Literal["this device", "nearest device", "roofline", "none"]
Trend = Callable[[Mapping[str, int]], float]
"""Sizes → a factor."""

NEIGHBOURS = 4
FAR = 3.0
"""Doublings beyond which a measured case says little: confidence falls to a third there."""
REACH = 2.0
"""No speedup is expected that is so many times beyond all that were measured."""


@dataclass(frozen=True)
class Evidence:
    """What one record says."""

    implementation: str
    record: str
    dims: Mapping[str, int]
    precision: str
    layout: str
    gradient: bool
    correct: bool
    wrong: bool
    """Shown to be wrong, which is more than not shown to be right."""
    speedup: float | None
    time_s: float | None
    memory_bytes: int | None
    memory_ratio: float | None
    fit: bool
    machine: Machine
    scalars: Mapping[str, Any] = field(default_factory=dict)

    @property
    def contiguous(self) -> bool:
        return self.layout == "contiguous"


@dataclass(frozen=True)
class Weighed:
    """One implementation as it was weighed for a call."""

    implementation: str
    refused: str | None = None
    """Why it cannot be picked; None where it can."""
    source: Source = "none"
    speedup: float | None = None
    """Expected, over the reference."""
    time_s: float | None = None
    memory_bytes: float | None = None
    memory_ratio: float | None = None
    confidence: float = 0.0
    """0 to 1: nearness of the evidence, times what another device, another version or a noisy run takes off."""
    distance: float | None = None
    """Doublings to the nearest measured case."""
    evidence: tuple[str, ...] = ()
    """Ids of the records, nearest first."""
    remarks: tuple[str, ...] = ()


def read_evidence(record: Record) -> Evidence:
    timing, memory = record.measurement.timing, record.measurement.memory
    return Evidence(
        implementation=record.subject.implementation,
        record=record.id,
        dims=record.case.dims,
        precision=record.case.precision,
        layout=record.case.layout,
        gradient=record.case.gradient == "grad",
        correct=record.verdict.correct,
        wrong=group(record.verdict.outcome) == "wrong",
        # what a machine was too noisy for counts as little as it may be: nothing goes to a kernel by a doubt
        speedup=(timing.speedup.value if timing.control.fit is not False else min(timing.speedup.value, timing.speedup.low))
        if timing
        else None,
        time_s=timing.candidate.time_s if timing else None,
        memory_bytes=memory.peak_bytes,
        memory_ratio=memory.ratio,
        fit=timing is not None and timing.control.fit is not False,
        machine=record.machine,
        scalars=record.case.scalars,
    )


def of_class(op: Op, evidence: Evidence, call: Call) -> bool:
    """Right for contiguous tensors says nothing about others; trials of every row use others, too, so the reverse holds. Scalars that
    choose the work (flags, whole numbers, words) must be the call's; floating ones (eps) are remarked on."""
    if (evidence.machine.kind, evidence.precision, evidence.gradient) != (call.device, call.precision, call.gradient):
        return False
    return _scalars(op, evidence.scalars, floating=False) == _scalars(op, call.scalars, floating=False)


def _scalars(op: Op, given: Mapping[str, Any], floating: bool) -> dict[str, Any]:
    """The op's scalars of one kind, defaults filled in."""
    return {name: given.get(name, default) for name, default in op.signature.scalars.items() if isinstance(default, float) == floating}


def class_of(op: Op, call: Call) -> str:
    flags = "".join(f", {name}={value}" for name, value in _scalars(op, call.scalars, floating=False).items())
    return f"{call.device}, {call.precision}{flags}, {'with gradients' if call.gradient else 'forward alone'}"


def command_for(op: Op, implementation: str, call: Call) -> str:
    if op.file is not None:
        return f"{op.name}.benchmark(…, implementations=[{implementation!r}])"
    return f"popcorn bench fill {op.name} --implementation {implementation} --dtype {call.precision}"


def expect(op: Op, call: Call, name: str, right: list[Evidence], here: Machine) -> Weighed:
    """From the measured cases of this device, else of the nearest one, else from the roofline."""
    timed = [e for e in right if e.speedup is not None]
    own = [e for e in timed if e.machine.device_id == here.device_id]
    source: Source = "this device" if own else "nearest device" if timed else "roofline"
    if source == "roofline":
        return _by_roofline(op, call, name, right, here)
    pool = own
    if not own:
        nearest = min(timed, key=lambda e: _device_distance(e.machine, here)).machine.device_id
        pool = [e for e in timed if e.machine.device_id == nearest]
    same_layout = [e for e in pool if e.layout == call.layout]
    own_scalars = _scalars(op, call.scalars, floating=True)
    same_scalars = [e for e in same_layout or pool if _scalars(op, e.scalars, floating=True) == own_scalars]
    pool = same_scalars or same_layout or pool
    trend = _trend(op, call, pool)
    pool = sorted(pool, key=lambda e: distance(e.dims, call.dims))[:NEIGHBOURS]
    near = distance(pool[0].dims, call.dims)
    if near == 0:
        pool = [e for e in pool if distance(e.dims, call.dims) == 0]
    weights = [1 / max(distance(e.dims, call.dims), 1e-3) ** 2 for e in pool]

    def mean(value: Callable[[Evidence], float | None], trend: Trend = lambda dims: 1.0) -> float | None:
        """At the call's sizes; `trend` is what is known of how the value changes with the sizes, and its departures from that are interpolated."""
        known = [(w, math.log(v / trend(e.dims))) for w, e in zip(weights, pool, strict=True) if (v := value(e))]
        return math.exp(sum(w * v for w, v in known) / sum(w for w, _ in known)) * trend(call.dims) if known else None

    remarks, confidence = [], 3.0 ** (-near / FAR)
    if not same_layout:
        confidence *= 0.8
        remarks.append(f"measured {' and '.join(sorted({e.layout for e in pool}))}, the call is {call.layout}")
    if not same_scalars:
        confidence *= 0.8
        remarks.append("measured with other values of " + ", ".join(own_scalars))
    if not own:
        confidence *= 0.5
        remarks.append(f"measured on {pool[0].machine.device_id}")
    if all(e.machine.torch != here.torch for e in pool):
        confidence *= 0.8
        remarks.append(f"measured with torch {pool[0].machine.torch}, this is {here.torch}")
    if not any(e.fit for e in pool):
        confidence *= 0.6
        remarks.append("every record near was taken on a machine too noisy for it")
    cost = _cost(op, call)

    def scaled(e: Evidence, figure: float | None, by_device: bool) -> float | None:
        """A time or a size at the call's sizes: in proportion to what must be moved, and to what the two devices can move."""
        if not figure:
            return None
        there = _bytes(op, e.dims, call)
        return figure * (cost / there if there else 1.0) * (_device_ratio(op, call, e.machine, here) if by_device else 1.0)

    return Weighed(
        name, None, source, mean(lambda e: e.speedup, trend), mean(lambda e: scaled(e, e.time_s, not own)),
        mean(lambda e: scaled(e, e.memory_bytes, False)), mean(lambda e: e.memory_ratio),
        confidence, near, tuple(e.record[:8] for e in pool), tuple(remarks),
    )  # fmt: skip


def _trend(op: Op, call: Call, pool: list[Evidence]) -> Trend:
    """How the speedup changes with the sizes, from an overhead and a rate of either side; 1 everywhere where the cases do not tell them apart."""

    def work(dims: Mapping[str, int], machine: Machine) -> float:
        bandwidth, peak = ceilings(call.precision, machine, find_spec(machine.device_name, machine.pci_id))
        least = _bytes(op, dims, call)
        return floor(least, op.flops(dims), bandwidth.value, peak.value) or least

    try:
        works = [work(e.dims, e.machine) for e in pool]
        there = work(call.dims, pool[0].machine)
    except (TypeError, KeyError):  # a size that no shape of the call tells
        return lambda dims: 1.0
    pairs = [(w, e) for w, e in zip(works, pool, strict=True) if w > 0 and e.time_s and e.speedup]
    own = fit_growth([(w, e.time_s or 0.0) for w, e in pairs])
    reference = fit_growth([(w, (e.time_s or 0.0) * (e.speedup or 0.0)) for w, e in pairs])
    if own is None or reference is None or there <= 0:
        return lambda dims: 1.0

    measured = [e.speedup for _, e in pairs if e.speedup]
    least, most = min(measured) / REACH, max(measured) * REACH

    def ratio(dims: Mapping[str, int]) -> float:
        amount = work(dims, pool[0].machine)
        return min(max(reference.at(amount) / own.at(amount), least), most)

    return ratio


def _by_roofline(op: Op, call: Call, name: str, right: list[Evidence], here: Machine) -> Weighed:
    """Right and never timed: the time of its declared bytes; there is no such figure of the reference, so torch stays ahead."""
    bandwidth, peak = ceilings(call.precision, here, find_spec(here.device_name, here.pci_id))
    time_s = floor(_cost(op, call), op.flops(call.dims), bandwidth.value, peak.value)
    remark = f"never timed; to time it: {command_for(op, name, call)}"
    return Weighed(name, None, "roofline", None, time_s, None, None, 0.1, None, tuple(e.record[:8] for e in right[:NEIGHBOURS]), (remark,))


def _bytes(op: Op, dims: Mapping[str, int], call: Call) -> float:
    return op.min_bytes(dims, itemsize(call.precision))


def _cost(op: Op, call: Call) -> float:
    try:
        return _bytes(op, call.dims, call)
    except (TypeError, KeyError):  # a size that no shape of the call tells (an index's bound)
        return 1.0


def _device_ratio(op: Op, call: Call, there: Machine, here: Machine) -> float:
    """How much longer it takes here than there, by the rate that bounds it."""
    rates = []
    for machine in (there, here):
        bandwidth, peak = ceilings(call.precision, machine, find_spec(machine.device_name, machine.pci_id))
        rates.append(floor(_cost(op, call), op.flops(call.dims), bandwidth.value, peak.value))
    return rates[1] / rates[0] if rates[0] and rates[1] else 1.0


def _device_distance(there: Machine, here: Machine) -> float:
    """Doublings between two devices' bandwidths; another family is far."""
    spec_there, spec_here = (find_spec(m.device_name, m.pci_id) for m in (there, here))
    a = there.bandwidth_bytes_per_s or (spec_there.bandwidth_bytes_per_s if spec_there else None)
    b = here.bandwidth_bytes_per_s or (spec_here.bandwidth_bytes_per_s if spec_here else None)
    apart = abs(math.log2(a / b)) if a and b else 4.0
    return apart + (0.0 if there.compute_capability == here.compute_capability else 2.0) + (0.0 if there.kind == here.kind else 100.0)
