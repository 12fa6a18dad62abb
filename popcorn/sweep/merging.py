"""Merging: records, runs and ends of jobs of several places into one cache. Nothing is removed at the source; conflicts are told. Imports no torch."""

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.errors import MissingFile
from popcorn.records.exporting import incomplete, read_parquet
from popcorn.records.runs import FILE
from popcorn.records.sources import EXPECTED, source_of
from popcorn.records.store import Store
from popcorn.records.tables import merge
from popcorn.schema.record import Record
from popcorn.sweep.done import Done

INCOMPLETE = ("harness_error",)
"""Outcomes of rows that were scheduled and never measured."""


@dataclass
class Merged:
    """What came together."""

    records: int = 0
    runs: int = 0
    jobs: int = 0
    scrubbed: int = 0
    conflicts: list[str] = field(default_factory=list)
    """Questions with different verdicts, and things that exist twice with different contents. The newest conclusive record counts."""


def merge_caches(sources: list[Path], to: Path, scrub: bool = False) -> Merged:
    """Add what `to` lacks. A source is a cache, a sweep's folder, a folder or a file of records. Raises MissingFile."""
    told, into = Merged(), Store(to / "records")
    known = {record.id: record for record in into}
    verdicts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for record in known.values():
        verdicts[_question(record)].add(record.verdict.outcome)
    for source in sources:
        if not source.exists():
            raise MissingFile(f"{source} does not exist; give a sweep's folder, {EXPECTED}.")
        fresh = []
        for record in _records(source, told):
            if scrub and incomplete(record) is not None:
                told.scrubbed += 1
                continue
            old = known.get(record.id)
            if old is not None:
                if old != record:
                    told.conflicts.append(f"record {record.id} has two contents; the one that was here is kept")
                continue
            known[record.id] = record
            fresh.append(record)
            if record.verdict.outcome not in INCOMPLETE:
                verdicts[_question(record)].add(record.verdict.outcome)
        told.records += merge([fresh], into)
        for cache in _caches(source):
            told.runs += _merge_runs(cache, to, told)
            told.jobs += _merge_jobs(cache, to)
    for question, outcomes in sorted(verdicts.items()):
        if len(outcomes) > 1:
            told.conflicts.append(
                f"{question[0]} {question[2]} {question[4]} on {question[5]}: {' and '.join(sorted(outcomes))}; the newest counts"
            )
    return told


def _question(record: Record) -> tuple[str, ...]:
    subject = record.subject
    return (
        subject.problem,
        subject.problem_hash,
        subject.implementation,
        subject.candidate_hash or "",
        record.case.id,
        record.machine.device_id,
    )


def _records(source: Path, told: Merged) -> Iterator[Record]:
    nested = [path for pattern in ("records", "cache/records", "shards/*/records") for path in sorted(source.glob(pattern))]
    for found in map(source_of, nested or [source]):
        yield from read_parquet(found) if isinstance(found, Path) else found
        told.conflicts += [] if isinstance(found, Path) else found.warnings


def _caches(source: Path) -> list[Path]:
    return [path for path in (source, source / "cache") if (path / "runs").is_dir() or (path / "jobs").is_dir()]


def _merge_runs(source: Path, to: Path, told: Merged) -> int:
    """Folders of runs, whole: one that ended wins over one that did not, and one that was broken off, of which there is a journal alone, goes on here."""
    added = 0
    for run in sorted((source / "runs" / "agents").iterdir()) if (source / "runs" / "agents").is_dir() else ():
        if not any((run / name).is_file() for name in (FILE, "journal.jsonl")):
            continue
        there = to / "runs" / "agents" / run.name
        mine, theirs = _run(there), _run(run)
        if there.is_dir():
            if mine.get("ended_by") is not None or theirs.get("ended_by") is None:
                if mine.get("record_id") != theirs.get("record_id"):
                    told.conflicts.append(f"run {run.name} has two contents; the one that was here is kept")
                continue
            shutil.rmtree(there)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(run, there)
        added += 1
    return added


def _run(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _merge_jobs(source: Path, to: Path) -> int:
    """Ends of jobs, and failed attempts with what they cost; how many results came in."""
    theirs, ours = Done(source), Done(to)
    known = {(line["job"], line["kind"], line.get("at")) for line in ours.lines()}
    done = set(ours.read().done)
    added = 0
    for line in list(theirs.lines()):
        if (
            line["kind"] == "forgiven"
            or (line["job"], line["kind"], line.get("at")) in known
            or (line["kind"] == "done" and line["job"] in done)
        ):
            continue
        facts = {name: value for name, value in line.items() if name not in ("job", "kind", "sweep")}
        ours.add(line["job"], line["kind"], str(line.get("sweep", "")), **facts)
        if line["kind"] == "done":
            done.add(line["job"])
            added += 1
    return added
