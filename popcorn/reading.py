"""Files that people write, read as they write them: UTF-8, with a byte order mark or without, and never more than was asked for."""

import difflib
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from popcorn.errors import BadCandidate, MissingFile, PopcornError

MAX_TOML_BYTES = 4_000_000

MAX_SOURCE_BYTES = 2_000_000
"""A kernel's text is some kilobytes; this is far beyond the largest that anybody wrote."""


def read_toml(path: Path, refused: Callable[[str], PopcornError]) -> dict[str, Any]:
    """The tables of a TOML file. What is not there or not understood raises `refused(why)`: the caller knows what the file should have been."""
    try:
        if (size := path.stat().st_size) > MAX_TOML_BYTES:
            raise refused(f"it holds {size:,} bytes, at most {MAX_TOML_BYTES:,} are read")
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise refused(error.strerror or str(error)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise refused("it is nested too deep" if isinstance(error, RecursionError) else str(error)) from None


def what_is_wrong(error: ValidationError, table: type[BaseModel], also: Collection[str] = (), without: Collection[str] = ()) -> str:
    """The first thing that is wrong with the tables of a file: the key, what was expected; for an unknown key the nearest one. `also` are keys of the whole
    file that `table` does not have, `without` some of its own that nobody writes."""
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")  # a mistyped key is missing, too
    *path, last = [str(part) for part in first["loc"]] or ["the file"]
    where = ".".join([*path, last])
    if first["type"] == "missing":
        return f"{where!r} is missing"
    if first["type"] != "extra_forbidden":
        return f"{where}: {first['msg']}, got {str(first.get('input'))[:80]!r}"
    known = [key for key in _fields(table, path) if key not in without] + ([] if path else list(also))
    near = difflib.get_close_matches(last, known, n=1, cutoff=0.0)
    return f"there is no key {where!r}; the nearest is {near[0]!r}. Keys here: {', '.join(known)}"


def _fields(table: type[BaseModel], path: list[str]) -> list[str]:
    """Keys of the table at a path of keys and indices."""
    for part in path:
        field = table.model_fields.get(part)
        inner = [] if field is None else [field.annotation, *get_args(field.annotation)]
        table = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), table)
    return list(table.model_fields)


def read_kernel(path: Path, most_bytes: int = MAX_SOURCE_BYTES) -> str:
    """The text of a kernel file, at most `most_bytes` long. Raises MissingFile, or BadCandidate for what is no text or too long."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise MissingFile(f"{path} {what}; give the path of a kernel file (.py, .c, .cpp or .cu).")
    try:
        if (size := path.stat().st_size) > most_bytes:
            raise BadCandidate(f"{path} has {size:,} bytes; a kernel text may have {most_bytes:,}: give its source.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCandidate(
            f"{path} is not text (UTF-8 was expected, and byte {error.start} is none); give the kernel's source, not a compiled file."
        ) from None
    except OSError as error:
        raise MissingFile(f"{path} cannot be read ({error.strerror}); check its permissions.") from None
