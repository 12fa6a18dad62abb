"""Trajectories of agents and searches: one folder a run, one file `run.json` in it. Free of torch.

<folder>/<sweep, or nothing>/<run id>/run.json     the Run as a whole; written anew after each turn by whoever makes it
"""

import json
import os
import re
from pathlib import Path

from pydantic import ValidationError

from popcorn.errors import BadRecord, MissingFile, UnwritableStore
from popcorn.home import cache_folder
from popcorn.schema.run import Run

FILE = "run.json"


def default_runs() -> Path:
    """Where this user's runs are: `$POPCORN_CACHE_DIR/runs`, else in the platform's cache folder."""
    return cache_folder() / "runs"


def write_run(run: Run, folder: Path) -> Path:
    """Write a run to `<folder>/<run id>/run.json`, whole or not at all, and return that path. Raises UnwritableStore."""
    path = Path(folder) / _safe(run.id) / FILE
    made = path.with_name(f".{FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(run.model_dump_json(), encoding="utf-8")
        made.replace(path)
    except OSError as error:
        raise UnwritableStore(f"{path} cannot be written ({error.strerror}); set POPCORN_CACHE_DIR to a folder that can be.") from error
    return path


def read_run(path: Path) -> Run:
    """The run of a `run.json`. Raises MissingFile, BadRecord with the first field that does not fit."""
    try:
        return Run.model_validate_json(path.read_bytes())
    except OSError as error:
        raise MissingFile(f"{path} cannot be read ({error.strerror}); give a folder that holds {FILE}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BadRecord(f"{path}: not a run: {where[:120]}: {first['msg'][:200]}; it was left out.") from None


def run_files(folder: Path) -> list[Path]:
    """Every `run.json` below a folder, sorted; runs may lie in folders of sweeps."""
    return sorted(Path(folder).rglob(FILE))


def read_runs(folder: Path, warnings: list[str] | None = None) -> list[Run]:
    """Every run below a folder, by start, then by path. One that cannot be read is told in `warnings` and left out."""
    found = []
    for path in run_files(folder):
        try:
            found.append(read_run(path))
        except (BadRecord, MissingFile) as error:
            if warnings is not None:
                warnings.append(str(error))
    return sorted(found, key=lambda run: run.started or "")


def read_lines(path: Path, warnings: list[str] | None = None) -> list[dict[str, object]]:
    """The objects of a JSONL file, in order; none where there is no file. A line that is not an object is told and left out."""
    found = []
    for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else [], 1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            found.append(value)
        elif line.strip() and warnings is not None:
            warnings.append(f"{path}:{number}: not a JSON object; it stays there and was not read.")
    return found


def _safe(name: str) -> str:
    """A folder name: no separators, no leading dot, at most 120 characters."""
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", name)[:120].lstrip(".") or "unknown"
