"""Records handed to other programs: CSV for spreadsheets, Parquet for everything else; and read back from Parquet."""

import csv
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from popcorn.errors import BadRecord
from popcorn.records.columns import columns, unflatten
from popcorn.records.tables import Source, opened, write_table
from popcorn.schema.record import Record

FORMATS = (".csv", ".parquet")
NOT_IN_CSV = frozenset(("source", "reference", "blocks_s", "baseline_blocks_s", "compiled_blocks_s"))
"""Texts and raw samples: megabytes that no spreadsheet shows."""

_QUESTION = "SELECT * FROM latest {where} ORDER BY problem, implementation, case_id, machine_device_id, id"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(source: Source, to: Path, kind: str | None = "op", problem: str | None = None) -> int:
    """Write the newest conclusive record of each question to a .csv or .parquet file, and return how many. It appears whole or not at all.

    CSV has a column for each figure, without texts and raw samples; Parquet has everything, and `merge` and `view` read it again.
    Raises BadRecord for another ending.
    """
    if to.suffix not in FORMATS:
        raise BadRecord(f"{to.name} ends in {to.suffix or 'nothing'}; records are written to {' or '.join(FORMATS)} files.")
    wanted = {name: value for name, value in (("kind", kind), ("problem", problem)) if value is not None}
    where = f"WHERE {' AND '.join(f'{name} = ?' for name in wanted)}" if wanted else ""
    with opened(source) as tables:
        rows = (row for part in tables.stream(_QUESTION.format(where=where), list(wanted.values())) for row in part.dicts())
        return _write_csv(rows, to) if to.suffix == ".csv" else write_table(map(unflatten, rows), to)


def read_parquet(path: Path, problem: str | None = None) -> Iterator[Record]:
    """Every record of a Parquet file of ours, or those of one problem or op, oldest first. Raises BadRecord where a row is none."""
    with opened(path) as tables:
        for part in tables.stream("SELECT * FROM records WHERE problem = ? OR ? IS NULL ORDER BY made, id", [problem, problem]):
            for row in part.dicts():
                try:
                    yield unflatten(row)
                except (ValueError, RecursionError) as error:
                    raise BadRecord(
                        f"{path.name} holds a row that is no record ({type(error).__name__}); was it written by Popcorn?"
                    ) from None


def incomplete(record: Record) -> str | None:
    """Why a record is no answer, None where it is one: a fault of ours, or right and never timed."""
    if record.verdict.outcome == "harness_error":
        return "a fault of the harness"
    return "right and never timed" if record.verdict.correct and record.measurement.timing is None else None


def _write_csv(rows: Iterable[dict[str, Any]], to: Path) -> int:
    names = [column.name for column in columns() if column.name not in NOT_IN_CSV]
    to.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=to.parent, prefix=".csv-")
    count = 0
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*names, "judgement"])
            for row in rows:
                writer.writerow([_cell(row[name]) for name in (*names, "judgement")])
                count += 1
        Path(made).replace(to)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
    return count


def _cell(value: Any) -> Any:
    """Texts that a spreadsheet would run as a formula are quoted: they may come from a candidate."""
    if isinstance(value, list | tuple | dict):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
