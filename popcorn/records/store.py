"""The record store: one JSON line a record, written the moment it exists. Free of torch.

    <folder>/<device id>/<month>-<host>.jsonl      lines; processes of one host take turns by flock, hosts have files of their own
    <folder>/<device id>/<month>-<host>.jsonl.torn what a killed writer left of a last line

A line is appended with one write and is on disk before `append` returns, so a crash costs at most the line in the making. Reading looks at
new bytes alone, and at the head of each line: only the records that are asked for are parsed and validated.
"""

import difflib
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popcorn.errors import BadRecord, UnwritableStore
from popcorn.home import cache_folder
from popcorn.records.appending import append_line, mend
from popcorn.records.ledger import Ledger
from popcorn.records.migrations import read_record
from popcorn.schema.record import Record

_STRING = rb'"((?:[^"\\]|\\.)*)"'
_HEAD = re.compile(
    rb'\{"schema_version":\d+,"kind":"(\w+)","id":' + _STRING + rb',"subject":\{"problem":' + _STRING
    + rb',"problem_hash":' + _STRING + rb',"implementation":' + _STRING + rb',"candidate_hash":(?:null|' + _STRING + rb")[,}]"
)  # fmt: skip
"""The beginning of a line as we write it; any other line is parsed whole."""


@dataclass(frozen=True)
class _Line:
    """Where a record lies, and what it can be found by."""

    path: Path
    number: int
    offset: int
    length: int
    id: str
    kind: str
    problem: str
    candidate_hash: str | None


@dataclass
class _Read:
    """How far a file has been read."""

    offset: int = 0
    lines: int = 0
    inode: int = 0


class Store:
    """Records of one folder. Threads and processes may share it; every record of every writer is seen once it is on disk."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.warnings: list[str] = []
        """What was repaired or could not be read, with the file and line; a bad line in the middle stays in its place."""
        self._lock = threading.RLock()
        self._lines: list[_Line] = []
        self._read: dict[Path, _Read] = {}

    def append(self, record: Record) -> None:
        """Write one record. It is on disk when this returns. Raises UnwritableStore, which says where the record was kept instead."""
        self.extend([record])

    def extend(self, records: Iterable[Record]) -> None:
        """Write records, each file's with one write. They are on disk when this returns. Raises as `append`."""
        lines: dict[Path, list[bytes]] = {}
        for record in records:
            lines.setdefault(self._path_of(record), []).append(record.model_dump_json().encode())
        for path, of_path in lines.items():
            text = b"\n".join(of_path)
            with self._lock:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self.warn(append_line(path, text))
                except OSError as error:
                    raise UnwritableStore(f"{path} cannot be written ({error.strerror}); {_rescue(text)}") from error

    def ids(self) -> list[str]:
        """The id of every line, in the order of files and lines."""
        with self._lock:
            self._refresh()
            return [line.id for line in self._lines]

    def places(self) -> list[tuple[str, int, int, int]]:
        """(file, line number, offset, length in bytes) of every line, in the order of files and lines."""
        with self._lock:
            self._refresh()
            return [(str(line.path), line.number, line.offset, line.length) for line in self._lines]

    def check_writable(self) -> None:
        """Raise UnwritableStore now rather than after an evaluation whose record could not be kept."""
        probe = self.folder / f".write-{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise UnwritableStore(
                f"records cannot be written to {self.folder} ({error.strerror}); set POPCORN_CACHE_DIR to a folder that can be written."
            ) from error

    @property
    def ledger(self) -> Ledger:
        """Judgements on these records."""
        return Ledger(self.folder)

    def find(
        self, problem: str | None = None, kind: str | None = None, candidate_hash: str | None = None, condemned: bool = True
    ) -> list[Record]:
        """Records that match every filter given, newest first; `condemned=False` leaves those out that the ledger condemns, as every rank and
        figure must. Lines that cannot be read are left out and told in `warnings`."""
        with self._lock:
            self._refresh()
            wanted = [
                line
                for line in self._lines
                if problem in (None, line.problem) and kind in (None, line.kind) and candidate_hash in (None, line.candidate_hash)
            ]
            barred = set() if condemned else {name for name, one in self.ledger.standings().items() if one.word == "condemned"}
            found = [record for line in wanted if line.id not in barred and (record := self._load_or_warn(line)) is not None]
        return sorted({record.id: record for record in found}.values(), key=lambda record: record.provenance.made, reverse=True)

    def get(self, id_or_prefix: str) -> Record:
        """The record of an id, or of the beginning of one. Raises BadRecord: none, several, a line that cannot be read."""
        wanted = id_or_prefix.strip().lower()
        with self._lock:
            self._refresh()
            found = {line.id: line for line in self._lines if wanted and line.id.startswith(wanted)}
            if wanted in found:
                return self._load(found[wanted])
            if len(found) == 1:
                return self._load(next(iter(found.values())))
        if found:
            raise BadRecord(f"{len(found)} records begin with {wanted[:40]!r}: {', '.join(sorted(found)[:5])}; give more digits.")
        raise BadRecord(f"no record is called {id_or_prefix[:40]!r} in {self.folder}; {self._suggest(wanted)}")

    def __iter__(self) -> Iterator[Record]:
        """Every record, in the order of files and lines. A line that cannot be read is told in `warnings`."""
        with self._lock:
            self._refresh()
            lines = list(self._lines)
        for line in lines:
            record = self._load_or_warn(line)
            if record is not None:
                yield record

    def __len__(self) -> int:
        """Lines that look like records."""
        with self._lock:
            self._refresh()
            return len(self._lines)

    # -- reading -------------------------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Look at what was appended since the last look."""
        for path in sorted(self.folder.glob("*/*.jsonl")):
            status = path.stat()
            known = self._read.setdefault(path, _Read(inode=status.st_ino))
            if status.st_size < known.offset or status.st_ino != known.inode:
                # mended or replaced by somebody else: read anew
                self._lines = [line for line in self._lines if line.path != path]
                known = self._read[path] = _Read(inode=status.st_ino)
            if status.st_size > known.offset:
                self._read_on(path, known)

    def _read_on(self, path: Path, known: _Read, mended: bool = False) -> None:
        torn = False
        with path.open("rb") as file:
            file.seek(known.offset)
            for text in file:
                if not text.endswith(b"\n"):
                    torn = True
                    break
                known.lines += 1
                self._index(path, known, text)
                known.offset += len(text)
        if torn and not mended:
            self.warn(mend(path))
            self._read_on(path, known, mended=True)

    def _index(self, path: Path, known: _Read, text: bytes) -> None:
        if not text.strip():
            return
        match = _HEAD.match(text)
        try:
            if match:
                kind, record_id, problem, candidate = (_text(match[group]) for group in (1, 2, 3, 6))
            else:
                kind, record_id, problem, candidate = _fields(json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self.warn(f"{path}:{known.lines}: not a record ({type(error).__name__}); it stays there and was not read.")
            return
        self._lines.append(_Line(path, known.lines, known.offset, len(text), record_id or "", kind or "", problem or "", candidate))

    def _load(self, line: _Line) -> Record:
        with line.path.open("rb") as file:
            file.seek(line.offset)
            text = file.read(line.length)
        try:
            return read_record(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"{line.path}:{line.number}: not a record: {error}; it stays there and was not read.") from None
        except BadRecord as error:
            raise BadRecord(f"{line.path}:{line.number}: {error}") from None

    def _load_or_warn(self, line: _Line) -> Record | None:
        try:
            return self._load(line)
        except BadRecord as error:
            self.warn(str(error))
            return None

    # -- small things --------------------------------------------------------------------------------------------------------------

    def _path_of(self, record: Record) -> Path:
        month = record.provenance.made[:7]
        return self.folder / _safe(record.machine.id) / f"{_safe(month)}-{_safe(record.machine.host or 'local')}.jsonl"

    def _suggest(self, wanted: str) -> str:
        near = difflib.get_close_matches(wanted, [line.id for line in self._lines], n=3, cutoff=0.6)
        if near:
            return f"nearest: {', '.join(near)}."
        if not self._lines:
            return "it holds no record yet: `popcorn eval PROBLEM FILE` makes one."
        newest = ", ".join(f"{line.id} ({line.problem})" for line in self._lines[:-4:-1])
        return f"the last written: {newest}."

    def warn(self, sentence: str | None) -> None:
        """Add a sentence to `warnings`, once."""
        if sentence and sentence not in self.warnings:
            self.warnings.append(sentence)


def default_store() -> Store:
    """The store of this machine's user: `$POPCORN_CACHE_DIR/records`, else in the platform's cache folder."""
    return Store(cache_folder() / "records")


def _fields(line: Any) -> tuple[str, str, str, str | None]:
    subject = line["subject"]
    return str(line.get("kind", "evaluation")), str(line["id"]), str(subject["problem"]), subject.get("candidate_hash")


def _text(raw: bytes | None) -> str | None:
    if raw is None:
        return None
    return str(json.loads(b'"' + raw + b'"')) if b"\\" in raw else raw.decode()


def _safe(name: str) -> str:
    """A file name part: no separators, no leading dot, at most 80 characters."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80].lstrip(".") or "unknown"


def _rescue(lines: bytes) -> str:
    import tempfile

    try:
        fd, path = tempfile.mkstemp(prefix="popcorn-record-", suffix=".jsonl")
        with os.fdopen(fd, "wb") as file:
            file.write(lines + b"\n")
    except OSError as error:
        return f"and no other place was found for the record ({error.strerror}); free some space or set POPCORN_CACHE_DIR."
    return f"the record was kept in {path}; set POPCORN_CACHE_DIR to a folder that can be written, then `popcorn bench merge {path}`."
