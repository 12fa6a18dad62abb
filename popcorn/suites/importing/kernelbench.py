"""Checkouts of KernelBench and PopcornBench: `KernelBench/level1/23_Softmax.py`, `level2/popcorn/47_….py`. Files are kept byte for byte."""

import re
from pathlib import Path
from typing import Any

from popcorn.errors import PopcornError
from popcorn.suites.facts import INJECTED, parse, undefined_names, with_model
from popcorn.suites.groups import connected, lists_inputs
from popcorn.suites.importing.found import ANOTHER_FILE, Found, files_below, holds_problem, imported_from_beside, read_python, snake

_LEVEL = re.compile(r"level[_ -]?(\d{1,2})", re.IGNORECASE)
_ANYBODYS = ("reference", "ref", "problem", "model", "module", "task", "input", "original", "pytorch", "torch", "main")
_ANSWERS = ("solution", "submission", "sota", "baseline", "check", "benchmark", "shapes")
"""What lies beside a `reference.py` and is no problem."""
_INNER = ("environment", "validation", "src", "tests")
"""Folders of a problem's own parts."""
_NUMBERED = re.compile(r"(\d{1,5})_+(.+)")


def looks_like(folder: Path) -> bool:
    """Whether there are level folders, or Python files with a class Model."""
    return any(
        _level(path.relative_to(folder.resolve())) is not None or has_model(path) for path in files_below(folder.resolve(), ".py")[:200]
    )


def read(folder: Path) -> list[Found]:
    """Every problem file. Where level folders exist, only what lies in them; else every file that defines Model."""
    root = folder.resolve()
    paths = files_below(root, ".py")
    in_levels = [path for path in paths if _level(path.relative_to(root)) is not None]
    wanted = in_levels or [path for path in paths if has_model(path)]
    wanted = [path for path in wanted if not (path.stem in _ANSWERS and path.with_name("reference.py") in wanted)]
    variants = {_variant(path.relative_to(root)) for path in wanted}
    found: list[Found] = []
    taken: set[str] = set()
    for path in wanted:
        if path.name == "__init__.py":
            continue
        one = _found(path, path.relative_to(root), len(variants) > 1, taken)
        taken.add(one.key)
        found.append(one)
    return found


def _found(path: Path, relative: Path, several_variants: bool, taken: set[str]) -> Found:
    level = _level(relative)
    # one folder a problem, all of them called alike: the folder's name tells them apart
    folders = [one for one in relative.parts[:-1] if one.lower() not in _INNER]
    stem = folders[-1] if path.stem.lower() in _ANYBODYS and folders else path.stem
    numbered = _NUMBERED.fullmatch(stem)
    number, name = (int(numbered[1]), snake(numbered[2])) if numbered else (None, snake(stem))
    pieces = [_variant(relative) or ""] if several_variants else []
    pieces += [f"L{level}"] if level is not None else []
    short = "/".join(filter(None, [*pieces, str(number) if number is not None else name]))
    key = short if short not in taken else f"{short}_{name}"
    about: dict[str, Any] = {"key": key, "name": name, "where": str(relative), "level": level, "number": number}
    try:
        source = connected(with_model(read_python(path)), path)
        beside = imported_from_beside(parse(source, path.name), path)
        missing = undefined_names(source, path.name, given=frozenset({INJECTED}))
    except PopcornError as error:
        return Found(**about, refused=str(error))
    except (RecursionError, MemoryError):
        return Found(**about, refused="is nested too deeply to be read")
    if beside:
        return Found(
            **about,
            refused=f"imports {beside}, {ANOTHER_FILE}",
        )
    if missing:
        names = ", ".join(f"`{name}` (line {line})" for name, line in missing[:3])
        return Found(**about, refused=f"uses {names}, which it never defines")
    further = path.stem == "reference" and path.with_name("shapes.py").is_file()
    remarks = ("its shapes.py lists further shapes, which are not read: it runs at those of reference.py",) if further else ()
    return Found(**about, source=source, remarks=remarks)


def _level(relative: Path) -> int | None:
    for part in reversed(relative.parts[:-1]):
        match = _LEVEL.fullmatch(part)
        if match:
            return int(match[1])
    return None


def _variant(relative: Path) -> str | None:
    """The folder between level and file: `popcorn`, `original`."""
    parts = relative.parts[:-1]
    return snake(parts[-1]) if parts and not _LEVEL.fullmatch(parts[-1]) and _level(relative) is not None else None


def has_model(path: Path) -> bool:
    """Whether a file means to be a problem of this form."""
    try:
        text = with_model(read_python(path))
    except PopcornError:
        return False
    return holds_problem(text) or lists_inputs(text) is not None
