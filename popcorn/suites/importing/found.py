"""Found: one problem that a reader saw in a folder, or the reason why it is none. And reading text that may be huge or hostile."""

import ast
import io
import json
import re
import sys
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, MissingFile

MAX_BYTES = 1_000_000
"""A file longer than this is not read."""
MAX_FILES = 5_000
"""Files looked at in one folder; a checkout of a benchmark has hundreds."""
MAX_DEPTH = 8
"""Folders below the one given."""

ANOTHER_FILE = "another file of its folder, and problems are one file each: put what it takes from there into it"
_INSTALLED = {"popcorn", "torch", "numpy", "triton"}
"""Never a file of a folder, even in a checkout that has a folder of that name."""
_SKIPPED = {".git", ".venv", "node_modules", "__pycache__", ".ipynb_checkpoints"}


@dataclass(frozen=True)
class Found:
    """One problem of a foreign suite. Either `source` is text that can be loaded, or `refused` says why there is none."""

    key: str
    """The id within its suite: `L1/23`, `layernorm`."""
    name: str
    """Name in snake case."""
    where: str
    """The file, relative to the folder given."""
    source: str = ""
    """Text of the problem: the file's own, or the file's own followed by what connects it."""
    level: int | None = None
    """Level, where the suite has levels."""
    number: int | None = None
    """Number within its level."""
    refused: str | None = None
    """Why it cannot become a problem."""
    remarks: tuple[str, ...] = ()
    """What was done or left out, in sentences."""
    tensors: tuple[str, ...] = ()
    """Files of tensors that its inputs come from; they stay where they are."""
    files: dict[str, str] = field(default_factory=dict)
    """Further texts to keep beside it, by file name: candidates, starting points."""


def files_below(folder: Path, suffix: str) -> list[Path]:
    """Files with a suffix, sorted by path; links that lead outside the folder and tool folders are left out. Raises BadProblem for too many."""
    root = folder.resolve()
    found: list[Path] = []
    stack = [(root, 0)]
    seen = 0
    while stack:
        here, depth = stack.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > 20 * MAX_FILES or len(found) > MAX_FILES:
                raise BadProblem(f"{folder} holds more than {MAX_FILES:,} {suffix} files; give the folder of the problems themselves")
            if entry.is_symlink() and not entry.resolve().is_relative_to(root):
                continue
            if entry.is_dir() and entry.name not in _SKIPPED and depth < MAX_DEPTH and not entry.is_symlink():
                stack.append((entry, depth + 1))
            elif entry.is_file() and entry.name.endswith(suffix):
                found.append(entry)
    return sorted(found, key=lambda path: (len(path.parts), [natural(part) for part in (*path.parts[:-1], path.stem)]))


def natural(text: str) -> list[Any]:
    """Sort key by which 9 comes before 10."""
    return [(0, int(part), "") if part.isdecimal() and len(part) < 10 else (1, 0, part) for part in re.split(r"(\d+)", text)]


def read_text(path: Path) -> str:
    """A UTF-8 file of at most MAX_BYTES, without its byte order mark. Raises BadProblem or MissingFile with the reason."""
    try:
        return _lines_evened(_read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadProblem("is not UTF-8 text") from error


def read_python(path: Path) -> str:
    """Python's text in the encoding that it declares (`# -*- coding: latin-1 -*-`), UTF-8 without one, as Python itself reads it."""
    content = _read_bytes(path)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return _lines_evened(content.decode(encoding))
    except SyntaxError as error:  # an encoding that Python does not know, or bytes of another one
        raise BadProblem(f"is not text that Python reads: {str(error.msg)[:200]}; save it as UTF-8") from error
    except UnicodeDecodeError as error:
        raise BadProblem("is not UTF-8 text and declares no other encoding; save it as UTF-8") from error


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise MissingFile(f"{path.name} is not there or is no file; expected text")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise BadProblem(f"holds {size:,} bytes; at most {MAX_BYTES:,} are read")
        return path.read_bytes()
    except OSError as error:
        raise MissingFile(f"{path.name} cannot be read: {error.strerror}") from error


def _lines_evened(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises BadProblem with line and reason."""
    try:
        return json.loads(read_text(path), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadProblem(f"{path.name} is not JSON: {str(error)[:200]}") from error


def read_json_lines(path: Path, limit: int) -> tuple[list[Any], int]:
    """Values of the first `limit` lines of a JSON-lines file, and how many lines were left out. Raises BadProblem naming a bad line."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    values = []
    for number, line in enumerate(lines[:limit], 1):
        try:
            values.append(json.loads(line, parse_constant=_no_constant))
        except (ValueError, RecursionError) as error:
            raise BadProblem(f"{path.name}, line {number}, is not JSON: {str(error)[:200]}") from error
    return values, len(lines) - len(values)


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def imported_from_beside(tree: ast.Module, path: Path) -> str | None:
    """The first import of a file that lies beside, as it is written; None where there is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.level:
                return f"`{'.' * node.level}{node.module or ''}`"
        else:
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            first = module.split(".")[0]
            if not first or first in _INSTALLED or first in sys.stdlib_module_names:
                continue
            if (path.parent / f"{first}.py").is_file() or (path.parent / first / "__init__.py").is_file():
                return f"`{module}`"
    return None


def holds_problem(text: str) -> bool:
    """Whether a Python text looks like a problem: it makes a `Model` and `get_inputs` at its top level, by whatever statement."""
    return all(
        re.search(rf"^(?:(?:class|def) +{name}\b|{name} *[:=]|from .+ import .*\b{name}\b)", text, re.MULTILINE)
        for name in ("Model", "get_inputs")
    )


def snake(text: str) -> str:
    """`4D_TensorMatmul` → `4d_tensor_matmul`: lower case, words apart, letters, digits and underscores alone."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"_+", "_", re.sub(r"[^0-9a-zA-Z]+", "_", apart)).strip("_").lower()[:100] or "unnamed"
