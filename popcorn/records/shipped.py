"""The records that ship with the package, `popcorn/reports/*.parquet`: what the library's ops took on our machines. Nobody writes them here."""

import functools
from pathlib import Path

from popcorn.records.exporting import read_parquet
from popcorn.schema.record import Record

FOLDER = Path(__file__).parents[1] / "reports"


def shipped_tables() -> list[Path]:
    """Their files, one a device."""
    return sorted(FOLDER.glob("*.parquet"))


def shipped_records(problem: str) -> tuple[Record, ...]:
    """Those of one op, oldest first."""
    return _read(FOLDER, problem)


@functools.cache
def _read(folder: Path, problem: str) -> tuple[Record, ...]:
    return tuple(record for path in sorted(folder.glob("*.parquet")) for record in read_parquet(path, problem))
