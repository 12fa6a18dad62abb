"""Evaluations: the list of every judged kernel, and a page for each that belongs to no run."""

import functools
import statistics
from collections.abc import Iterator
from typing import Any

from popcorn.records.columns import unflatten
from popcorn.schema.measurement import Samples, Timing
from popcorn.schema.record import Record
from popcorn.site import code, facts, words
from popcorn.site.facts_tables import tables_of
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
        "tables": list(tables_of(record)),
        "times": times(record),
        "roof": roof(record),
        "source": code.numbered(source, subject.language) if source else [],
        "source_text": source,
        "reference": code.numbered(reference) if reference else [],
        "reference_text": reference,
        "limit": code.LIMIT,
    }


def times(record: Record) -> list[dict[str, Any]]:
    """Each side's estimate, interval, raw samples, and the median of each block by launch, for the charts."""
    told = record.measurement.timing
    if told is None:
        return []
    rows = []
    for name, side in sides(told):
        raw = [call for launch in side.blocks_s for block in launch for call in block]
        rows.append(
            {
                "side": name,
                "time_s": side.time_s,
                "low": side.low_s,
                "high": side.high_s,
                "raw": raw[:: max(1, -(-len(raw) // SAMPLES))],
                "blocks": [[statistics.median(block) for block in launch if block] for launch in side.blocks_s],
            }
        )
    return rows


def sides(told: Timing) -> list[tuple[str, Samples]]:
    """The sides that have a time, by the names that pages give them."""
    named = (("this kernel", told.candidate), ("eager", told.baseline), ("torch.compile", told.compiled))
    return [(name, one) for name, one in named if one is not None]


def roof(record: Record) -> dict[str, Any] | None:
    """Each side under this machine's two ceilings, for the chart; None where a ceiling, or what the problem must do, is unknown."""
    told, timing = record.measurement.roofline, record.measurement.timing
    ceilings = (told.peak_bandwidth_bytes_per_s, told.peak_flop_per_s, told.arithmetic_intensity)
    if timing is None or not told.flops or not all(ceilings):
        return None
    return {
        "bandwidth": ceilings[0], "peak": ceilings[1], "intensity": ceilings[2], "source": told.ceiling_source or "unknown source",
        "sides": [{"side": side, "flop_per_s": told.flops / one.time_s, "time_s": one.time_s} for side, one in sides(timing)],
    }  # fmt: skip
