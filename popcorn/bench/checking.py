"""What a store must satisfy, before it is trusted and before it ships. Asking for a release needs torch, to know today's implementations."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from popcorn.ops.registry import UnknownOp, find_op
from popcorn.records.exporting import incomplete
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.schema.verdict import group
from popcorn.worker.writing import candidate_hash


class Finding(NamedTuple):
    """One thing that is not as it must be."""

    rule: str
    record: str
    """Id of the record."""
    reason: str


def check(records: Iterable[Record], release: bool = False) -> list[Finding]:
    """Every finding. Always: an id stands for one record. For a release also: rows of the library alone, none incomplete, none of a
    text that is no more, every timed one with its controls passed, and nothing that would be chosen without having been shown right."""
    seen: dict[str, Record] = {}
    found = []
    for record in records:
        if record.id in seen and seen[record.id] != record:
            found.append(Finding("one id, one record", record.id, "two records differ and share this id"))
        seen[record.id] = record
    if release:
        found += [finding for record in seen.values() for finding in _of_release(record)]
        found += _unvalidated(seen.values())
    return found


def unread(store: Iterable[Record]) -> list[Finding]:
    """What of a store was not read when it was gone through, and that nothing was there to read."""
    if not isinstance(store, Store):
        return []
    found = [Finding("every line can be read", "", sentence) for sentence in store.warnings]
    return found if found or len(store) else [Finding("there are records", "", f"{store.folder} holds none")]


def shippable(records: Iterable[Record]) -> tuple[list[Record], Counter[str]]:
    """The newest conclusive row of each question, without those that a release may not hold; and how many each rule took out.

    Rows that show an implementation wrong stay, for they bar it; what would win a case in spite of them goes.
    """
    newest: dict[tuple[str, ...], Record] = {}
    for record in sorted(records, key=lambda one: (one.verdict.outcome != "harness_error", one.provenance.made)):
        subject = record.subject
        newest[
            subject.problem,
            subject.problem_hash,
            subject.implementation,
            subject.candidate_hash or "",
            record.case.id,
            record.machine.device_id,
        ] = record
    kept, out = list(newest.values()), Counter[str]()
    while found := {finding.record: finding.rule for finding in check(kept, release=True)}:
        out.update(found.values())
        kept = [record for record in kept if record.id not in found]
    return kept, out


def counted(findings: Iterable[Finding]) -> Counter[str]:
    """How many of each rule."""
    return Counter(finding.rule for finding in findings)


def _of_release(record: Record) -> Iterator[Finding]:
    if record.kind != "op":
        yield Finding("rows of the library alone", record.id, f"its kind is {record.kind}")
        return
    if reason := incomplete(record):
        yield Finding("no incomplete rows", record.id, reason)
    if stale := _stale(record):
        yield Finding("no stale fingerprints", record.id, stale)
    timing = record.measurement.timing
    if timing is not None and timing.control.fit is not True:
        yield Finding("controls passed", record.id, timing.control.reason or "no control was run")


def _stale(record: Record) -> str | None:
    subject = record.subject
    try:
        op = find_op(subject.problem)
    except UnknownOp:
        return f"no op {subject.problem} ships"
    if subject.problem_hash != op.hash:
        return f"the reference of {op.name} has changed"
    one = op.implementations.get(subject.implementation)
    if one is None:
        return f"{op.name} has no implementation {subject.implementation}"
    return None if subject.candidate_hash == candidate_hash(one.source) else f"{op.name}[{one.name}] has changed"


def _unvalidated(records: Iterable[Record]) -> Iterator[Finding]:
    """The fastest of each case must be right there, and nowhere wrong in the case's class: else it would be barred, or should be."""
    wrong: dict[tuple[str, ...], str] = {}
    fastest: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        case = record.case
        of_class = (record.subject.problem, record.machine.device_id, case.precision, case.gradient)
        if group(record.verdict.outcome) == "wrong":
            wrong[(*of_class, record.subject.implementation)] = record.id
        elif record.measurement.timing is not None:
            fastest[(*of_class, case.id)].append(record)
    for key, several in fastest.items():
        best = max(several, key=lambda one: one.measurement.timing.speedup.value if one.measurement.timing else 0.0)
        barred = wrong.get((*key[:4], best.subject.implementation))
        if barred:
            name = best.subject.implementation
            yield Finding(
                "every choice validated", best.id, f"{name} would win {best.case.id}, and record {barred} shows it wrong in that class"
            )
