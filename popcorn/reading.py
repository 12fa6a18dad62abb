"""Files that people write, read as they write them: UTF-8, with a byte order mark or without, and never more than was asked for."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
