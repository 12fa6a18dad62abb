"""Records as tables: JSONL to Parquet, and SQL over them. DuckDB does the work; it is imported when a table is made or asked."""

import atexit
import errno
import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn.errors import BadRecord, MissingFile
from popcorn.records.columns import columns, flatten
from popcorn.records.flattening import WORTH_BYTES, flatten_in_processes
from popcorn.records.store import Store
from popcorn.schema.record import SCHEMA_VERSION, Record

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

JUDGEMENTS = 'CREATE TABLE judgements (record_id VARCHAR, word VARCHAR, evidence VARCHAR, "by" VARCHAR, made VARCHAR)'
"""What holds of a record according to the ledger beside its store; empty for Parquet files, which have none."""

KEY = ("kind", "problem_hash", "implementation", "candidate_hash", "case_id", "machine_device_id")
"""Records that agree in these answer the same question; the newest conclusive one is the answer."""

LATEST = (
    "CREATE VIEW latest AS SELECT * FROM records QUALIFY row_number() OVER "
    f"(PARTITION BY {', '.join(KEY)} ORDER BY coalesce(judgement = 'condemned', false), outcome = 'harness_error', made DESC, id) = 1"
)
"""A fault of ours says nothing about a candidate, and what is condemned is no answer: either shows only where nothing else is known."""

COUNTED = "CREATE VIEW counted AS SELECT * FROM latest WHERE judgement IS DISTINCT FROM 'condemned'"
"""What ranks and figures may read."""

_LARGEST_ROW_BYTES = 256 << 20


@dataclass(frozen=True)
class Rows:
    """The answer to a question."""

    columns: tuple[str, ...]
    """Names, in order."""
    rows: tuple[tuple[Any, ...], ...]
    """Values: None, bool, int, float, str, lists of these; JSON columns as text."""

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def write_table(records: Iterable[Record], path: Path) -> int:
    """Write records as one Parquet file, one row each, and return how many. The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".table-") as folder:
        lines = Path(folder) / "rows.jsonl"
        count = 0
        with lines.open("w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(flatten(record), allow_nan=False) + "\n")
                count += 1
        _to_parquet([lines], path)
    return count


def _to_parquet(lines: Sequence[Path], path: Path) -> None:
    import duckdb

    made = lines[0].with_name("rows.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({_read_lines(lines)}) TO {_quote(str(made))} (FORMAT parquet, COMPRESSION zstd)")
    made.replace(path)


Source = Store | Path | Sequence[Store | Path]
"""A store, whose table is brought up to date first, a Parquet file of `write_table`, or several of them."""


def query(sql: str, source: Source, parameters: Sequence[Any] = ()) -> Rows:
    """Ask in SQL. `records` holds every row, `latest` the newest conclusive one a question (see KEY), `counted` those of `latest` that the
    ledger does not condemn. Beside a record's columns each row has `judgement` and `judgement_evidence`, None where nobody said anything.

    The statement can read these rows and nothing else of this machine. Raises BadRecord with DuckDB's words when it is not understood.
    """
    with opened(source) as tables:
        return tables.ask(sql, parameters)


class Tables:
    """Tables that stay open for several questions."""

    def __init__(self, connection: "DuckDBPyConnection"):
        self._connection = connection

    def ask(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """As `query`."""
        (rows,) = self._asked(sql, parameters, None)
        return rows

    def stream(self, sql: str, parameters: Sequence[Any] = (), size: int = 500) -> Iterator[Rows]:
        """The answer in pieces of `size` rows, so that wide rows need not be in memory at once."""
        yield from self._asked(sql, parameters, size)

    def _asked(self, sql: str, parameters: Sequence[Any], size: int | None) -> Iterator[Rows]:
        import duckdb

        try:
            asked = self._connection.execute(sql, list(parameters))
            names = tuple(column[0] for column in asked.description or ())
            if size is None:
                yield Rows(names, tuple(asked.fetchall()))
                return
            while rows := asked.fetchmany(size):
                yield Rows(names, tuple(rows))
        except duckdb.Error as error:
            raise BadRecord(f"the query cannot be answered: {' '.join(str(error).split())[:400]}") from None


@contextmanager
def opened(source: Source) -> Iterator[Tables]:
    """The tables of a source, to be asked several times; see `query`."""
    import duckdb

    sources = [source] if isinstance(source, Store | Path) else list(source)
    paths = [refresh_table(one) if isinstance(one, Store) else one for one in sources]
    standings = [judged for one in sources if isinstance(one, Store) for judged in one.ledger.standings().values()]
    with duckdb.connect() as connection:
        _open(connection, paths, [(one.record_id, one.word, one.evidence, one.by, one.made) for one in standings])
        yield Tables(connection)


def latest(source: Source) -> Rows:
    """Every column of the newest conclusive record of each question, by problem and newest first."""
    return query("SELECT * FROM latest ORDER BY problem, made DESC, id", source)


def refresh_table(store: Store) -> Path:
    """The store's Parquet file, `tables/records.parquet` beside its folder, rewritten when lines were added since. Where nothing may be written
    there it lies in this process's own temporary folder."""
    try:
        return _refreshed(store, store.folder.parent / "tables" / "records.parquet")
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        name = hashlib.sha256(str(store.folder.resolve()).encode()).hexdigest()[:16]
        return _refreshed(store, own_folder() / name / "records.parquet")


@functools.cache
def own_folder() -> Path:
    """A temporary folder of this process, which goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="popcorn-tables-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _refreshed(store: Store, path: Path) -> Path:
    stamp = path.with_suffix(".stamp")
    files = sorted(store.folder.glob("*/*.jsonl"))
    seen = json.dumps([SCHEMA_VERSION, *([file.name, file.stat().st_size] for file in files)])
    if not _whole(path) or not stamp.exists() or stamp.read_text(encoding="utf-8", errors="replace") != seen:
        _write_store(store, sum(file.stat().st_size for file in files), path)
        # lines appended meanwhile make the sizes differ at the next look
        stamp.write_text(seen, encoding="utf-8")
    return path


def _whole(path: Path) -> bool:
    """Whether a file begins and ends as Parquet does: one that a full disk cut off is made again."""
    try:
        with path.open("rb") as file:
            begins = file.read(4)
            file.seek(-4, 2)
            return begins == file.read(4) == b"PAR1"
    except OSError:
        return False


def _write_store(store: Store, size: int, path: Path) -> None:
    if size < WORTH_BYTES:
        write_table(iter(store), path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".table-") as folder:
        rows, said = flatten_in_processes(store.places(), Path(folder))
        for sentence in said:
            store.warn(sentence)
        _to_parquet(rows, path)


def merge(sources: Iterable[Iterable[Record]], into: Store, keep: Callable[[Record], bool] = lambda _: True) -> int:
    """Add to `into` the records of other stores or tables that it lacks, by id, and that `keep` keeps, and return how many. Nothing is
    removed; see `latest`."""
    known = set(into.ids())
    added = 0
    for source in sources:
        fresh = list({record.id: record for record in source if record.id not in known and keep(record)}.values())
        into.extend(fresh)
        known.update(record.id for record in fresh)
        added += len(fresh)
    return added


def _open(connection: "DuckDBPyConnection", paths: Sequence[Path], judgements: Sequence[tuple[str, ...]] = ()) -> None:
    """Views over these files, then the door is shut: no other file, no network, no settings."""
    missing = [path for path in paths if not path.is_file()]
    if missing or not paths:
        raise MissingFile(f"there is no table {missing[0] if missing else ''}; give Parquet files that Popcorn wrote, or a store.")
    files = ", ".join(_quote(str(path.resolve())) for path in paths)
    connection.execute(f"SET allowed_paths = [{files}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    connection.execute(JUDGEMENTS)
    if judgements:
        connection.executemany("INSERT INTO judgements VALUES (?, ?, ?, ?, ?)", [list(one) for one in judgements])
    import duckdb

    rows = (
        "CREATE VIEW records AS SELECT rows.*, judgements.word AS judgement, judgements.evidence AS judgement_evidence "
        f"FROM read_parquet([{files}], union_by_name = true) AS rows LEFT JOIN judgements ON rows.id = judgements.record_id"
    )
    try:
        for view in (rows, LATEST, COUNTED):
            connection.execute(view)
    except duckdb.Error as error:
        odd = next((path for path in paths if not _whole(path)), None)
        told = "it is no Parquet file" if odd else " ".join(str(error).split())[:200]
        raise BadRecord(f"{(odd or paths[0]).name} is no table of records ({told}); give Parquet files that Popcorn wrote.") from None


def _read_lines(paths: Sequence[Path]) -> str:
    kinds = ", ".join(f"{_quote(column.name)}: {_quote(column.sql_type)}" for column in columns())
    return (
        f"SELECT * FROM read_json([{', '.join(_quote(str(path)) for path in paths)}], format = 'newline_delimited', columns = {{{kinds}}}, "
        f"maximum_object_size = {_LARGEST_ROW_BYTES})"
    )


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
