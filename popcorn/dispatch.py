"""Which implementation for this call, here, and why. Imports without torch.

An implementation whose correctness was not shown for the call's class is never picked, nor one that was wrong in it. Among the others the
policy decides by what their records let us expect (evidence.py): those of this device, else those of the nearest device, scaled, else
the roofline of the declared bytes, else it is torch. Which source served is said once.
"""

import enum
import math
import warnings
from dataclasses import dataclass, field
from typing import Literal

from popcorn.devices.probe import probe
from popcorn.evidence import Evidence, Weighed, class_of, command_for, expect, of_class, read_evidence
from popcorn.ops.calls import Call, Rejected
from popcorn.ops.implementation import Implementation
from popcorn.ops.registry import REFERENCE, Op
from popcorn.records.shipped import shipped_records
from popcorn.records.store import Store, default_store
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.units import show_bytes, show_percent, show_ratio, show_time
from popcorn.worker.writing import candidate_hash

Policy = Literal["fastest", "least memory", "fastest under budget"]

GAIN = 1.02
"""Expected speedup under which the reference stays: less is within the noise of most machines."""
LEAST_CONFIDENCE = 0.05
"""What rests on less, eight doublings from the nearest measured case say, is a guess."""


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
        near = [one for one in able if one.confidence >= LEAST_CONFIDENCE]
        best = max(near, key=lambda one: one.speedup or 0.0, default=Weighed(REFERENCE))
        if (best.speedup or 0.0) < GAIN:
            far = len(near) < len(able) and any((one.speedup or 0.0) >= GAIN for one in able)
            return REFERENCE, "what is expected to be faster rests on too little" if far else "no other is expected to be faster", weighed
        return (
            best.implementation,
            f"{show_ratio(best.speedup)} torch expected, from {best.source}, confidence {show_percent(best.confidence)}",
            weighed,
        )

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
        same_class = [e for e in known if of_class(op, e, call)]
        wrong = next((e for e in same_class if e.wrong), None)
        if wrong is not None:
            return Weighed(one.name, f"record {wrong.record} shows it wrong for {class_of(op, call)}")
        right = [e for e in same_class if e.correct]
        if not right:
            return Weighed(one.name, f"not shown to be right for {class_of(op, call)}; to show it: {command_for(op, one.name, call)}")
        return expect(op, call, one.name, right, here)

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
                known = set(record.case.dims) <= set(op.signature.dims)  # the declaration may have had other names for its sizes
                if known and subject.problem_hash == op.hash and current.get(subject.implementation) == subject.candidate_hash:
                    # a case that was measured again is what its newest conclusive record says
                    key = (subject.implementation, record.case.id, record.machine.device_id, record.machine.torch)
                    if record.verdict.outcome != "harness_error" or key not in newest:
                        newest[key] = record
            kept = self._kept[op.name] = (count, [read_evidence(record) for record in newest.values()])
        return kept[1]

    def _here(self, device: str) -> Machine:
        if self.machine is not None:
            return self.machine
        if device not in self._probed:
            self._probed[device] = probe("cpu" if device == "cpu" else "auto")
        return self._probed[device]


CHOOSER = Measured()
"""What every op asks unless it has a chooser of its own."""
