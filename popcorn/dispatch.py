"""Which implementation for this call, here, and why. Imports without torch.

What counts as evidence is a record of an op's row: the same reference text, the same text of the implementation, a case of the same
class (kind of device, element type, gradient mode, contiguous or not). Its figure is the speedup over the reference, taken in turns in
one run, so drift of the machine cancels. Between measured cases the log of the speedup is interpolated over log sizes, weighted by the
inverse square of the distance. Where this device has no rows, those of the nearest device serve, scaled by the ratio of bandwidths or
flop rates that the case is bound by; where no row has a time, the roofline of the declared bytes; else it is torch. An implementation
whose correctness was not shown for the class is never picked, nor one that was wrong in it. Which source served is said once.
"""

import enum
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from popcorn.cases import distance, itemsize
from popcorn.devices.probe import probe
from popcorn.devices.specs import find as find_spec
from popcorn.measure.roofline import ceilings, floor
from popcorn.ops.calls import Call, Rejected
from popcorn.ops.implementation import Implementation
from popcorn.ops.registry import REFERENCE, Op
from popcorn.records.shipped import shipped_records
from popcorn.records.store import Store, default_store
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.schema.verdict import group
from popcorn.units import show_bytes, show_percent, show_ratio, show_time
from popcorn.worker.writing import candidate_hash

Policy = Literal["fastest", "least memory", "fastest under budget"]
Source = Literal["this device", "nearest device", "roofline", "none"]

NEIGHBOURS = 4
FAR = 3.0
"""Doublings beyond which a measured case says little: confidence falls to a third there."""
GAIN = 1.02
"""Expected speedup under which the reference stays: less is within the noise of most machines."""


_USERS_FRAME = 8
"""From the warning up to the user's own call of the op."""


class PopcornWarning(UserWarning):
    """Everything that dispatch ever warns of, each said once a process and op."""


class Notice(enum.Enum):
    """The closed list of warnings."""

    NO_RECORDS = "has no records that serve here; the reference carries it out"
    NEAREST_DEVICE = "has no records of this device; those of another serve, scaled"
    OTHER_VERSIONS = "has records of other versions of torch only; they serve with less confidence"
    ROOFLINE = "has records without times only; the choice rests on the roofline of its declared bytes"


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


@dataclass(frozen=True)
class Explanation:
    """What `op.explain(…)` returns: print it."""

    op: str
    call: Call
    policy: str
    chosen: str
    why: str
    weighed: tuple[Weighed, ...]

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={size}" for name, size in self.call.dims.items())
        mode = "forward and backward" if self.call.gradient else "forward"
        head = f"{self.op}: {self.chosen} ({self.why})\n  call: {sizes} · {self.call.precision} · {self.call.layout} · {mode} · {self.call.device}"
        return "\n".join([f"{head} · policy: {self.policy}", *(f"  {_told(one)}" for one in self.weighed)])


def _told(one: Weighed) -> str:
    if one.refused:
        return f"{one.implementation:10} refused: {one.refused}"
    if one.implementation == REFERENCE:
        return f"{one.implementation:10} the reference, always right"
    near = "at a measured case" if not one.distance else f"{one.distance:.1f} doublings from the nearest measured case"
    time = f", about {show_time(one.time_s)}" if one.time_s else ""
    memory = f", {show_bytes(one.memory_bytes)} of memory" if one.memory_bytes is not None else ""
    gain = f"{show_ratio(one.speedup)} torch expected{time}{memory}"
    rests = f"{one.source}, {near}, confidence {show_percent(one.confidence)}"
    return f"{one.implementation:10} {gain}; rests on {rests}; records {', '.join(one.evidence)}" + "".join(f"; {r}" for r in one.remarks)


@dataclass
class Measured:
    """The chooser that knows records."""

    policy: Policy = "fastest"
    budget_bytes: int | None = None
    """For `fastest under budget`: the most memory that a call may need beyond its inputs."""
    store: Store | None = None
    machine: Machine | None = None
    """None: this one."""
    _probed: dict[str, Machine] = field(default_factory=dict)
    _kept: dict[str, tuple[int, list[Evidence]]] = field(default_factory=dict)
    _said: set[tuple[str, Notice]] = field(default_factory=set)

    def choose(self, op: Op, call: Call) -> Implementation:
        """The implementation of the policy among those that accept the call and were shown to be right in its class."""
        chosen, _, weighed = self._decide(op, call)
        self._warn(op, [one for one in weighed if one.refused is None and one.implementation != REFERENCE])
        return op.implementations[chosen]

    def explain(self, op: Op, call: Call) -> Explanation:
        """The same decision with everything that was weighed."""
        chosen, why, weighed = self._decide(op, call)
        return Explanation(op.name, call, self.policy, chosen, why, tuple(weighed))

    # -- deciding ------------------------------------------------------------------------------------------------------------------

    def _decide(self, op: Op, call: Call) -> tuple[str, str, list[Weighed]]:
        evidence = self._evidence(op)
        weighed = [self._weigh(op, call, one, [e for e in evidence if e.implementation == one.name]) for one in op.implementations.values()]
        able = [one for one in weighed if one.refused is None and one.implementation != REFERENCE]
        if not able:
            return REFERENCE, "no other implementation may be picked", weighed
        if self.policy == "least memory":
            best = min(able, key=lambda one: one.memory_ratio if one.memory_ratio is not None else math.inf)
            if best.memory_ratio is not None and best.memory_ratio < 1:
                return best.implementation, f"least memory, {show_ratio(best.memory_ratio)} of torch's", weighed
            return REFERENCE, "no other needs less memory", weighed
        if self.policy == "fastest under budget" and self.budget_bytes is not None:
            able = [one for one in able if one.memory_bytes is not None and one.memory_bytes <= self.budget_bytes]
        best = max(able, key=lambda one: one.speedup or 0.0, default=Weighed(REFERENCE))
        if (best.speedup or 0.0) < GAIN:
            return REFERENCE, "no other is expected to be faster", weighed
        return best.implementation, f"{show_ratio(best.speedup)} torch expected, from {best.source}", weighed

    def _weigh(self, op: Op, call: Call, one: Implementation, known: list[Evidence]) -> Weighed:
        answer = one.accepts(call)
        if isinstance(answer, Rejected):
            return Weighed(one.name, answer.reason)
        if one.run is None:
            return Weighed(one.name, "it did not load")
        if one.name == REFERENCE:
            return Weighed(one.name, None, "this device", 1.0, confidence=1.0)
        here = self._here(call.device)
        if here.kind != call.device:
            return Weighed(one.name, f"records of this {call.device} device cannot be told apart: the machine is seen as {here.kind}")
        same_class = [e for e in known if _of_class(op, e, call)]
        wrong = next((e for e in same_class if e.wrong), None)
        if wrong is not None:
            return Weighed(one.name, f"record {wrong.record} shows it wrong for {_class(op, call)}")
        right = [e for e in same_class if e.correct]
        if not right:
            return Weighed(one.name, f"not shown to be right for {_class(op, call)}; to show it: {_command(op, one.name, call)}")
        return _interpolate(op, call, one.name, right, here)

    def _warn(self, op: Op, able: list[Weighed]) -> None:
        if not able:
            self._say(op, Notice.NO_RECORDS)
            return
        sources = {one.source for one in able}
        if sources == {"nearest device"}:
            self._say(op, Notice.NEAREST_DEVICE)
        elif sources == {"roofline"}:
            self._say(op, Notice.ROOFLINE)
        elif all(any("torch" in remark for remark in one.remarks) for one in able):
            self._say(op, Notice.OTHER_VERSIONS)

    def _say(self, op: Op, notice: Notice) -> None:
        if (op.name, notice) not in self._said:
            self._said.add((op.name, notice))
            hint = (
                f"popcorn bench fill {op.name} measures it here, {op.name}.explain(…) tells more"
                if op.file is None
                else "measure it with benchmark(…)"
            )
            warnings.warn(f"{op.name} {notice.value}. {hint}.", PopcornWarning, stacklevel=_USERS_FRAME)

    # -- knowing -------------------------------------------------------------------------------------------------------------------

    def _evidence(self, op: Op) -> list[Evidence]:
        """Of the present texts of the op and its implementations. Read again when the store has grown."""
        store = default_store() if self.store is None else self.store
        count = sum(path.stat().st_size for path in (*store.folder.glob("*/*.jsonl"), *store.folder.glob("*.jsonl")))  # judgements, too
        kept = self._kept.get(op.name)
        if kept is None or kept[0] != count:
            current = {name: candidate_hash(one.source) for name, one in op.implementations.items()}
            newest: dict[tuple[str, str, str, str | None], Record] = {}
            own = sorted(store.find(problem=op.name, kind="op", condemned=False), key=lambda one: one.provenance.made)
            # what ships serves where nothing is known here; it is read first, so that the user's own rows replace its
            for record in [*(shipped_records(op.name) if self.store is None else ()), *own]:
                subject = record.subject
                if subject.problem_hash == op.hash and current.get(subject.implementation) == subject.candidate_hash:
                    # a case that was measured again is what its newest conclusive record says
                    key = (subject.implementation, record.case.id, record.machine.device_id, record.machine.torch)
                    if record.verdict.outcome != "harness_error" or key not in newest:
                        newest[key] = record
            kept = self._kept[op.name] = (count, [_read(record) for record in newest.values()])
        return kept[1]

    def _here(self, device: str) -> Machine:
        if self.machine is not None:
            return self.machine
        if device not in self._probed:
            self._probed[device] = probe("cpu" if device == "cpu" else "auto")
        return self._probed[device]


def _read(record: Record) -> Evidence:
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
        speedup=timing.speedup.value if timing else None,
        time_s=timing.candidate.time_s if timing else None,
        memory_bytes=memory.peak_bytes,
        memory_ratio=memory.ratio,
        fit=timing is not None and timing.control.fit is not False,
        machine=record.machine,
        scalars=record.case.scalars,
    )


def _of_class(op: Op, evidence: Evidence, call: Call) -> bool:
    """Right for contiguous tensors says nothing about others; trials of every row use others, too, so the reverse holds. Scalars that
    choose the work (flags, whole numbers, words) must be the call's; floating ones (eps) are remarked on."""
    if (evidence.machine.kind, evidence.precision, evidence.gradient) != (call.device, call.precision, call.gradient):
        return False
    return _scalars(op, evidence.scalars, floating=False) == _scalars(op, call.scalars, floating=False)


def _scalars(op: Op, given: Mapping[str, Any], floating: bool) -> dict[str, Any]:
    """The op's scalars of one kind, defaults filled in."""
    return {name: given.get(name, default) for name, default in op.signature.scalars.items() if isinstance(default, float) == floating}


def _class(op: Op, call: Call) -> str:
    flags = "".join(f", {name}={value}" for name, value in _scalars(op, call.scalars, floating=False).items())
    return f"{call.device}, {call.precision}{flags}, {'with gradients' if call.gradient else 'forward alone'}"


def _command(op: Op, implementation: str, call: Call) -> str:
    if op.file is not None:
        return f"{op.name}.benchmark(…, implementations=[{implementation!r}])"
    return f"popcorn bench fill {op.name} --implementation {implementation} --dtype {call.precision}"


def _interpolate(op: Op, call: Call, name: str, right: list[Evidence], here: Machine) -> Weighed:
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
    pool = sorted(same_scalars or same_layout or pool, key=lambda e: distance(e.dims, call.dims))[:NEIGHBOURS]
    near = distance(pool[0].dims, call.dims)
    if near == 0:
        pool = [e for e in pool if distance(e.dims, call.dims) == 0]
    weights = [1 / max(distance(e.dims, call.dims), 1e-3) ** 2 for e in pool]

    def mean(value: Callable[[Evidence], float | None]) -> float | None:
        known = [(w, math.log(v)) for w, e in zip(weights, pool, strict=True) if (v := value(e))]
        return math.exp(sum(w * v for w, v in known) / sum(w for w, _ in known)) if known else None

    remarks = [] if same_layout else [f"measured contiguous, the call is {call.layout}"]
    confidence = 3.0 ** (-near / FAR)
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
        there = op.min_bytes(e.dims, itemsize(call.precision))
        return figure * (cost / there if there else 1.0) * (_device_ratio(op, call, e.machine, here) if by_device else 1.0)

    return Weighed(
        name, None, source, mean(lambda e: e.speedup), mean(lambda e: scaled(e, e.time_s, not own)),
        mean(lambda e: scaled(e, e.memory_bytes, False)), mean(lambda e: e.memory_ratio),
        confidence, near, tuple(e.record[:8] for e in pool), tuple(remarks),
    )  # fmt: skip


def _by_roofline(op: Op, call: Call, name: str, right: list[Evidence], here: Machine) -> Weighed:
    """Right and never timed: the time of its declared bytes; there is no such figure of the reference, so torch stays ahead."""
    bandwidth, peak = ceilings(call.precision, here, find_spec(here.device_name, here.pci_id))
    time_s = floor(_cost(op, call), op.flops(call.dims), bandwidth.value, peak.value)
    remark = f"never timed; to time it: {_command(op, name, call)}"
    return Weighed(name, None, "roofline", None, time_s, None, None, 0.1, None, tuple(e.record[:8] for e in right[:NEIGHBOURS]), (remark,))


def _cost(op: Op, call: Call) -> float:
    try:
        return op.min_bytes(call.dims, itemsize(call.precision))
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


CHOOSER = Measured()
"""What every op asks unless it has a chooser of its own."""
