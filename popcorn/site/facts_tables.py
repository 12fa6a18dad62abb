"""What a record says of several outputs, kernels or processes: a table each, a row for every one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from popcorn.schema.record import Record
from popcorn.site import words


@dataclass(frozen=True)
class FactTable:
    """One table; the first column names the row."""

    title: str
    source: str
    """The function or instrument that made its figures."""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Column = tuple[str, str, Callable[[Any], str]]
"""Heading, field, and how its value is shown; a dash where it is unknown."""

PRECISION: tuple[Column, ...] = (
    ("output", "output", lambda text: text[:80]), ("max abs error", "max_abs_error", words.number), ("the reference's own", "reference_max_abs_error", words.number),
    ("mean abs", "mean_abs_error", words.number), ("max rel", "max_rel_error", words.number), ("mean rel", "mean_rel_error", words.number),
    ("max ulp", "max_ulp", words.number), ("cosine", "cosine", lambda value: words.UNKNOWN if value is None else f"{value:.9g}"),
    ("held", "worst", words.number), ("allowed", "bound", words.number),
)  # fmt: skip
COUNTERS: tuple[Column, ...] = (
    ("kernel", "name", lambda text: text[:80]), ("time", "time_s", words.time), ("DRAM", "dram_utilisation", words.percent),
    ("compute", "compute_utilisation", words.percent), ("read", "dram_read_bytes", words.size), ("written", "dram_write_bytes", words.size),
    ("occupancy", "occupancy", words.percent), ("L1", "l1_hit", words.percent), ("L2", "l2_hit", words.percent),
    ("sectors / load", "load_sectors_per_request", words.number), ("sectors / store", "store_sectors_per_request", words.number),
    ("registers", "registers_per_thread", words.whole), ("shared", "shared_bytes_per_block", words.size), ("block", "block_size", words.whole),
    ("grid", "grid_size", words.whole), ("pipe", "dominant_pipe", lambda name: name or words.UNKNOWN),
    ("longest stall", "stalls", lambda stalls: max(stalls, key=stalls.get) if stalls else words.UNKNOWN),
)  # fmt: skip
MOST = 64
"""Rows of one table."""


def tables_of(record: Record) -> Iterator[FactTable]:
    """Tables of whatever a record has more than one of."""
    precision, counters, ranks = record.verdict.precision, record.measurement.counters.kernels, record.measurement.ranks
    if len(precision) > 1:
        yield _table(
            "Precision of every output",
            f"verify.compare · truth in {record.verdict.truth_dtype or 'unknown precision'}",
            PRECISION,
            precision,
        )
    if len(counters) > 1:
        yield _table("Counters of every kernel", "measure.counters · Nsight Compute, one call, longest first", COUNTERS, counters)
    if ranks is not None:
        rows = tuple(
            (str(place), words.time(ours), words.time(theirs))
            for place, (ours, theirs) in enumerate(zip(ranks.candidate_s, ranks.reference_s, strict=False))
        )
        source = f"worker.ranks · {ranks.world} processes over {ranks.backend}, {ranks.calls} calls a row, each by its own clock"
        yield FactTable("Ranks", source, ("rank", "this kernel", "reference"), rows[:MOST])


def _table(title: str, source: str, columns: Sequence[Column], items: Sequence[Any]) -> FactTable:
    """Columns that no item knows are left out."""
    known = [column for column in columns if any(getattr(one, column[1]) not in (None, {}) for one in items)]
    rows = tuple(tuple(show(getattr(one, name)) for _, name, show in known) for one in items[:MOST])
    return FactTable(title, source, tuple(heading for heading, _, _ in known), rows)
