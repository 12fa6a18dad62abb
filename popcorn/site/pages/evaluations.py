"""Evaluations: the list of every judged kernel, and a page for each that belongs to no run."""

import functools
from collections.abc import Iterator
from typing import Any

from popcorn.records.columns import unflatten
from popcorn.schema.record import Record
from popcorn.site import code, facts, words
from popcorn.site.gather import Gathered, Row, digest, title_of
from popcorn.site.page import Files, Page, show, simple
from popcorn.site.pages.shared import PIECE

SAMPLES = 240
"""Raw samples of a side that a chart shows at most."""


def pages(found: Gathered) -> Iterator[Page]:
    """The list, then one page a record."""
    pieces = max(1, -(-len(found.evaluations) // PIECE))
    yield simple(
        "evaluations.html", "evaluations.html", digest(pieces, len(found.evaluations)), pieces=pieces, total=len(found.evaluations)
    )
    others: dict[tuple[str, str], list[str]] = {}
    for row in found.evaluations:
        others.setdefault((row["problem"], row["problem_hash"]), []).append(row["id"])
    for row in found.evaluations:
        if not row.get("run"):
            yield record_page(row, len(others[row["problem"], row["problem_hash"]]) - 1)


def record_page(row: Row, others: int = 0) -> Page:
    """The page of one record."""
    path = f"records/{words.file_name(row['id'])}.html"
    about = {name: row[name] for name in ("id", "store", "judgement", "judgement_evidence")}
    return Page(path, digest(row["id"], row["judgement"], row["judgement_evidence"], row["store"], others),
                functools.partial(render_record, path, about, others), ((row["store"], row["id"]),))  # fmt: skip


def render_record(path: str, about: dict[str, Any], others: int, rows: dict[str, Row]) -> Files:
    """The page and the raw JSON beside it."""
    record = unflatten(rows[about["id"]])
    raw = path.removesuffix(".html") + ".json"
    html = show("record.html", path, raw=raw.rpartition("/")[2], others=others, **about_record(record), judged=about)
    beside = path.removesuffix(".html") + ".source.js"
    return {path: html, raw: record.model_dump_json(indent=1), beside: code.delivered(record.id, record.subject.source)}


def about_record(record: Record) -> dict[str, Any]:
    """What the templates of a record and of a run show of a record."""
    subject = record.subject
    source, reference = subject.source or "", subject.reference or ""
    return {
        "record": record,
        "headline": facts.headline(record),
        "title": title_of(subject.problem, reference),
        "sections": list(facts.sections(record)),
        "times": times(record),
        "source": code.numbered(source, subject.language) if source else [],
        "source_text": source,
        "reference": code.numbered(reference) if reference else [],
        "reference_text": reference,
        "limit": code.LIMIT,
    }


def times(record: Record) -> list[dict[str, Any]]:
    """Each side's estimate, interval and raw samples, for the chart."""
    told = record.measurement.timing
    if told is None:
        return []
    sides = {"this kernel": told.candidate, "eager": told.baseline, "torch.compile": told.compiled}
    rows = []
    for name, side in sides.items():
        if side is not None:
            raw = [call for launch in side.blocks_s for block in launch for call in block]
            rows.append(
                {
                    "side": name,
                    "time_s": side.time_s,
                    "low": side.low_s,
                    "high": side.high_s,
                    "raw": raw[:: max(1, -(-len(raw) // SAMPLES))],
                }
            )
    return rows
