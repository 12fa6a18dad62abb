"""Where records are read from: whatever holds some, by its path. Free of torch."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from popcorn.errors import BadRecord, MissingFile
from popcorn.records.ledger import FILE as LEDGER
from popcorn.records.store import Store
from popcorn.records.tables import own_folder

EXPECTED = "a cache folder, a folder of records, a file of them (one JSON object a line), or a Parquet file"
_PARQUET = b"PAR1"
_LARGEST_RECORD_BYTES = 64 << 20


def source_of(path: Path) -> Store | Path:
    """A store of a folder or of JSON Lines, a Parquet file as it is. Files of lines are copied: nothing is ever written beside them.
    Raises MissingFile where there is neither, BadRecord for a file without a record.
    """
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_PARQUET)) == _PARQUET:
                return path
        store = _Copied([path])
        if not len(store):
            raise BadRecord(f"{path} holds no record; give {EXPECTED}.")
        return store
    if not path.is_dir():
        raise MissingFile(f"{path} {'is no file or folder' if path.exists() else 'does not exist'}; give {EXPECTED}.")
    folder = path / "records" if (path / "records").is_dir() else path
    loose = sorted(one for one in folder.glob("*.jsonl") if one.name != LEDGER and one.is_file())
    return _Copied([*loose, *sorted(folder.glob("*/*.jsonl"))], folder / LEDGER) if loose else Store(folder)


class _Copied(Store):
    """Copies of files of lines, told of by the names of the files themselves."""

    def __init__(self, files: list[Path], ledger: Path | None = None):
        super().__init__(Path(tempfile.mkdtemp(dir=own_folder())) / "records")
        self._names = {}
        for number, file in enumerate(files):
            copy = self.folder / str(number) / "lines.jsonl"
            copy.parent.mkdir(parents=True)
            _copy_lines(file, copy)
            self._names[str(copy)] = str(file)
        if ledger is not None and ledger.is_file():
            shutil.copyfile(ledger, self.folder / LEDGER)

    def warn(self, sentence: str | None) -> None:
        for copy, name in self._names.items():
            sentence = sentence and sentence.replace(copy, name)
        super().warn(sentence)


def _copy_lines(file: Path, to: Path) -> None:
    """Each record on a line of its own that ends. One object over several lines, such as a page's raw JSON, becomes one, and a list of them one each."""
    with file.open("rb") as lines:
        first = lines.readline(_LARGEST_RECORD_BYTES)
    whole = None if isinstance(_parsed(first), dict) or file.stat().st_size > _LARGEST_RECORD_BYTES else _parsed(file.read_bytes())
    if whole is not None:
        records = whole if isinstance(whole, list) else [whole]
        to.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return
    shutil.copyfile(file, to)
    with to.open("rb+") as copy:
        if copy.seek(0, 2) and copy.seek(-1, 2) is not None and copy.read(1) != b"\n":
            copy.write(b"\n")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
