"""Fill the store with an op's missing cases: smaller first, each once, however often it is stopped and started. Needs torch in the parent.

A row is done when its record is on disk, so a kill costs the case in flight and nothing else. Before each case a sentinel names it; one
that is found at the start is of a run that ended in that case: the case is tried once more, and when it ends a run again it becomes a
`crash` row. What runs out of memory or time prunes cases at least as large (cases.Frontier); pruned ones are no rows. Ops take turns, so that
whoever stops early has the smaller cases of all. A row whose controls did not pass can be measured again at the end, with twice the time.
"""

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from popcorn.bench import line, measure, shared_bench
from popcorn.bench.asking import Settings, call_of, read_scalar, request_for
from popcorn.cases import Curve, Frontier, Plan, Planned, general, itemsize, plan_cases, sample
from popcorn.errors import PopcornError
from popcorn.ops.calls import Rejected
from popcorn.ops.registry import Op, find_op
from popcorn.records.store import Store
from popcorn.schema.case import Precision
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.schema.workload import Workload
from popcorn.worker.writing import candidate_hash

CPU_BYTES = 4_000_000_000

CRASHES = 2
"""Runs that may end in one case before it is a crash row."""


@dataclass(frozen=True)
class Slice:
    """One size varies, everything else is fixed: `D dtype=bfloat16 R=4096`."""

    axis: str
    precision: Precision
    dims: dict[str, int]
    scalars: dict[str, Any] = field(default_factory=dict)
    """Scalar arguments other than their defaults."""

    @classmethod
    def read(cls, text: str, op: Op) -> "Slice":
        """Raises PopcornError for an axis or a size that the op does not have."""
        axis, *settings = text.split()
        given = dict(part.partition("=")[::2] for part in settings)
        precision = given.pop("dtype", "float32")
        scalars = {name: read_scalar(given.pop(name), op.signature.scalars[name]) for name in list(given) if name in op.signature.scalars}
        unknown = [name for name in (axis, *given) if name not in op.signature.dims]
        if unknown or None in scalars.values() or precision not in get_args(Precision) or not all(v.isdigit() for v in given.values()):
            raise PopcornError(
                f"slice {text!r} of {op.name}: expected `AXIS dtype=… SIZE=…` with sizes among {', '.join((*op.signature.dims, *op.signature.scalars))}"
            )
        return cls(axis, precision, {name: int(value) for name, value in given.items()}, scalars)  # type: ignore[arg-type]

    def of(self, plan: Plan) -> Plan:
        """The plan of this slice alone: every value that the whole plan has on the axis."""
        curves = [curve for curve in plan.curves if curve.axis == self.axis]
        values = sorted({*plan.pools[self.axis], *(v for curve in curves for v in curve.values)})
        usual = curves[0].fixed if curves else {name: pool[-1] for name, pool in plan.pools.items() if name != self.axis}
        return Plan(plan.pools, (Curve("production", self.axis, tuple(values), {**usual, **self.dims}),))


@dataclass
class Progress:
    """What a fill has done so far."""

    planned: int = 0
    done: int = 0
    known: int = 0
    pruned: int = 0
    again: int = 0
    """Rows measured once more, since their controls had not passed."""
    unfit: int = 0
    """Rows whose newest record has controls that did not pass, or accuses installed code by its clock."""
    left: int = 0
    """Rows that were not begun, since the time was up."""
    refused: dict[str, str] = field(default_factory=dict)
    """Implementation → why it refused, the last reason."""
    seconds: float = 0.0

    @property
    def eta_s(self) -> float | None:
        """Seconds that the rest will take at the pace so far; later cases are larger, so it grows."""
        rest = self.planned - self.done - self.known - self.pruned
        return self.seconds / self.done * rest if self.done else None


@dataclass(frozen=True)
class Row:
    """One record to make."""

    op: Op
    implementation: str
    planned: Planned

    @property
    def key(self) -> tuple[str, ...]:
        one = self.op.implementations[self.implementation]
        return (self.op.name, self.op.hash, self.implementation, candidate_hash(one.source), self.planned.case.id)


def plan_rows(
    ops: Sequence[Op],
    machine: Machine,
    implementations: Sequence[str] | None = None,
    only: str | None = None,
    limit: int | None = None,
    precisions: Sequence[Precision] = ("float32", "bfloat16"),
    curves_only: bool = False,
    progress: Progress | None = None,
    largest_bytes: float | None = None,
) -> list[Row]:
    """Every row of these ops that some implementation accepts here: the first case of each op, then the second, smaller first within each. `limit`
    cases an op, the same ones every time; none that moves more than `largest_bytes` at least, in one direction of its gradients."""
    found: list[list[list[Row]]] = []
    for op in ops:
        plan: Plan = op.plan or general(op.signature.dims)
        chosen = Slice.read(only, op) if only else None
        cases = plan_cases(
            chosen.of(plan) if chosen else plan,
            op.resident_bytes,
            (chosen.precision,) if chosen else precisions,
            ("none", "grad") if op.differentiable else ("none",),
            {**op.signature.scalars, **(chosen.scalars if chosen else {})},
            _room(machine),
            curves_only or chosen is not None,
        )
        small = [
            one for one in cases if largest_bytes is None or op.min_bytes(one.case.dims, itemsize(one.case.precision)) <= largest_bytes
        ]
        kind = "cuda" if machine.kind == "cuda" else "cpu"
        found.append([list(_accepted(op, planned, kind, implementations, progress)) for planned in _sampled(small, limit)])
    return [row for turn in itertools.zip_longest(*found, fillvalue=[]) for rows in turn for row in rows]


def _sampled(cases: Sequence[Planned], limit: int | None) -> list[Planned]:
    """`limit` cases: half of them forward alone, half with gradients, each from small to large. No gradient mode is left with one case that the
    other could have."""
    if limit is None:
        return list(cases)
    grad = [one for one in cases if one.case.gradient == "grad"]
    alone = [one for one in cases if one.case.gradient == "none"]
    with_grad = min(len(grad), limit // 2)
    chosen = sample(alone, limit - with_grad)
    chosen += sample(grad, limit - len(chosen)) if grad and limit > len(chosen) else []
    return sorted(chosen, key=lambda one: (one.cost, one.case.id))


def workload_rows(
    workload: Workload, machine: Machine, implementations: Sequence[str] | None = None, progress: Progress | None = None
) -> list[Row]:
    """Every row of exactly the captured calls that some implementation accepts on this machine, smaller first. Raises UnknownOp."""
    kind = "cuda" if machine.kind == "cuda" else "cpu"
    rows: list[Row] = []
    for captured in {(one.op, one.case.id): one for one in workload.calls}.values():
        op = find_op(captured.op)
        planned = Planned(captured.case, "production", op.min_bytes(captured.case.dims, itemsize(captured.case.precision)))
        rows += _accepted(op, planned, kind, implementations, progress)
    return sorted(rows, key=lambda row: (row.planned.cost, row.op.name, row.planned.case.id))


def _accepted(op: Op, planned: Planned, kind: str, implementations: Sequence[str] | None, progress: Progress | None) -> Iterator[Row]:
    for name, one in op.implementations.items():
        if name not in (implementations or op.implementations):
            continue
        answer = one.accepts(call_of(planned.case, kind))
        if not isinstance(answer, Rejected):
            yield Row(op, name, planned)
        elif progress is not None:
            progress.refused[f"{op.name} {name}"] = answer.reason


def _room(machine: Machine) -> int | None:
    """Memory that a case may need. On a CPU 4 GB at most: a CPU moves a hundredth of what a GPU does, and larger cases take
    minutes each."""
    return machine.memory_bytes if machine.kind == "cuda" else min(machine.memory_bytes or CPU_BYTES, CPU_BYTES)


def fill(
    rows: Sequence[Row],
    store: Store,
    settings: Settings,
    force: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda _: None,
    within_s: float = math.inf,
    again: int = 0,
) -> Iterator[Record]:
    """Measure the rows that the store lacks (with `force` all); each record is in the store when it is yielded.

    No row is begun after `within_s`. Rows whose controls did not pass, now or in an earlier run, are measured up to `again` times more.
    """
    state = progress or Progress()
    state.planned = len(rows)
    machine = shared_bench(settings.device).machine
    newest = {} if force else known_rows(store, {row.op.name for row in rows}, machine)
    sentinel = Sentinel(store.folder.parent / "fill.json")
    frontier = Frontier()
    end = time.monotonic() + within_s
    for attempt in range(1 + again):
        for row in rows:
            known = newest.get(row.key)
            if known is not None and not (attempt and doubtful(known)):
                state.known += not attempt
                continue
            if frontier.beyond(row.implementation, row.planned):
                state.pruned += not attempt
                continue
            if time.monotonic() >= end:
                state.left += known is None and not attempt
                continue
            started = time.monotonic()
            record = newest[row.key] = _measured(row, store, replace(settings, budget_s=settings.budget_s * 2**attempt), sentinel)
            _note_frontier(frontier, row, record)
            state.done += known is None
            state.again += known is not None
            state.seconds += (time.monotonic() - started) * (known is None)
            tell(line(record))
            yield record
    state.unfit = sum(doubtful(newest[row.key]) for row in rows if row.key in newest)
    for op in {row.op.name: row.op for row in rows}.values():
        op.forget()


def _measured(row: Row, store: Store, settings: Settings, sentinel: "Sentinel") -> Record:
    """One row's record; a crash row where it has ended enough runs."""
    if sentinel.crashed(row.key):
        from popcorn.evaluate import record_crash

        request = request_for(row.op, row.implementation, row.planned.case, settings)
        record = record_crash(request, shared_bench(settings.device), store, f"the run ended in this case {CRASHES} times")
    else:
        sentinel.set(row.key)
        record = measure(row.op, row.implementation, row.planned.case, settings, store)
    sentinel.clear()
    return record


def doubtful(record: Record) -> bool:
    """Whether a quieter moment may say otherwise: the controls did not pass, or the clock accuses what is no candidate."""
    timing = record.measurement.timing
    return record.verdict.outcome == "cheated" or (timing is not None and timing.control.fit is False)


def known_rows(store: Store, ops: set[str], machine: Machine) -> dict[tuple[str, ...], Record]:
    """The newest conclusive record of each row of this device; none that is condemned."""
    found: dict[tuple[str, ...], Record] = {}
    for op in ops:
        for record in store.find(problem=op, kind="op", condemned=False):  # newest first
            if record.machine.device_id == machine.device_id and record.verdict.outcome != "harness_error":
                found.setdefault(_key(record), record)
    return found


def cached_rows(rows: Sequence[Row], store: Store, machine: Machine) -> list[Record]:
    """What the store knows already of these rows, of the present texts."""
    known = known_rows(store, {row.op.name for row in rows}, machine)
    return [known[key] for key in dict.fromkeys(row.key for row in rows) if key in known]


def _key(record: Record) -> tuple[str, ...]:
    subject = record.subject
    return (subject.problem, subject.problem_hash, subject.implementation, subject.candidate_hash or "", record.case.id)


def _note_frontier(frontier: Frontier, row: Row, record: Record) -> None:
    outcome = record.verdict.outcome
    if outcome in ("out_of_memory", "timeout"):
        frontier.add(row.implementation, row.planned)
    elif outcome == "invalid_reference" and record.verdict.stage == "load":
        frontier.add("torch", row.planned)  # the reference itself ran out of memory or time


class Sentinel:
    """A file that names the case in flight and how many runs have ended in it."""

    def __init__(self, path: Path):
        self.path = path
        try:
            found = json.loads(path.read_text())
            self.left: tuple[tuple[str, ...], int] | None = (tuple(found["key"]), int(found["runs"]))
        except (OSError, ValueError, KeyError, TypeError):
            self.left = None

    def crashed(self, key: tuple[str, ...]) -> bool:
        """True when enough runs have ended in this case."""
        return self.left is not None and self.left[0] == key and self.left[1] >= CRASHES

    def set(self, key: tuple[str, ...]) -> None:
        """This case begins."""
        runs = self.left[1] + 1 if self.left is not None and self.left[0] == key else 1
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"key": key, "runs": runs}))

    def clear(self) -> None:
        """The case has its row."""
        self.left = None
        self.path.unlink(missing_ok=True)
