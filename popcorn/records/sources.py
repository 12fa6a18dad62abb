"""Where records are read from: whatever holds some, by its path. Free of torch."""

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path

from popcorn.errors import MissingFile
from popcorn.records.ledger import FILE as LEDGER
from popcorn.records.store import Store

EXPECTED = "a cache folder, a folder of records, a file of them (one JSON object a line), or a Parquet file"
_PARQUET = b"PAR1"


def source_of(path: Path) -> Store | Path:
    """A store of a folder or of JSON Lines, a Parquet file as it is. A file of lines is copied: nothing is ever written beside it.
    Raises MissingFile where there is nothing, or a folder that holds no record.
    """
    if path.is_file():
        with path.open("rb") as file:
            return path if file.read(len(_PARQUET)) == _PARQUET else _store_of([path])
    if not path.exists():
        raise MissingFile(f"{path} does not exist; give {EXPECTED}.")
    folder = path / "records" if (path / "records").is_dir() else path
    loose = sorted(one for one in folder.glob("*.jsonl") if one.name != LEDGER)
    return _store_of(loose) if loose and not any(folder.glob("*/*.jsonl")) else Store(folder)


def _store_of(files: list[Path]) -> Store:
    folder = Path(tempfile.mkdtemp(dir=_own_folder()))
    for number, file in enumerate(files):
        copy = folder / "records" / str(number) / f"{file.stem}.jsonl"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(_as_lines(file.read_bytes()))
    return Store(folder / "records")


def _as_lines(text: bytes) -> bytes:
    """Each record on a line of its own that ends: one object over several lines, such as a page's raw JSON, becomes one."""
    if text.lstrip()[:1] == b"{" and b"\n" in text.strip():
        try:
            return json.dumps(json.loads(text)).encode() + b"\n"
        except (ValueError, RecursionError):  # several, one a line
            pass
    return text if text.endswith(b"\n") else text + b"\n"


@functools.cache
def _own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="popcorn-lines-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
