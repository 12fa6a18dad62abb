"""The problems: which there are, finding one by id or path, and its text for an agent. Free of torch; runs nothing of a problem."""

import difflib
import functools
import hashlib
import re
from pathlib import Path
from typing import Literal

from popcorn.errors import BadProblem, MissingFile, UnknownProblem
from popcorn.schema.case import Frozen
from popcorn.suites.facts import Facts, parse, read_facts, with_model
from popcorn.suites.groups import connected
from popcorn.suites.importing.found import ANOTHER_FILE, imported_from_beside, read_python
from popcorn.suites.jitter import Size
from popcorn.suites.statement import write_statement

VARIANTS = ("popcorn", "original")
SUITES = Path(__file__).parent

Origin = Literal["suite", "file", "popcornbench", "kernelbench", "op"]

_FILE = re.compile(r"(\d+)_(\w+)\.py")
_ID = re.compile(r"(?:(?P<variant>popcorn|original)/)?L(?P<level>\d+)/(?P<number>\d+)(?:_(?P<name>\w+?))?(?:\.py)?")


class Problem(Frozen):
    """One reference, with its text as read once: what a job carries to the process that runs it."""

    id: str
    """`popcorn/L1/29`, or the path as given for a file that no suite holds."""
    variant: str | None = None
    """`popcorn` (sizes drawn per trial) or `original` (sizes fixed); None outside the suites."""
    level: int | None = None
    """1 single operators, 2 fused operators, 3 blocks; None outside the suites."""
    number: int | None = None
    """Number within its level and variant; None outside the suites."""
    name: str
    """`logsumexp_across_virtual_ranks`."""
    path: str
    """Absolute path of the file."""
    source: str
    """The file's text, as read."""
    hash: str
    """SHA-256 of the normalised source, 16 hex digits."""
    origin: Origin
    """`suite` ships with Popcorn; `file` keeps our contract elsewhere; the next two are files of those benchmarks, run unmodified;
    `op` is a case of the library."""
    suite: str | None = None
    """Name of the imported suite that holds it; None for what ships with Popcorn and for files."""
    suite_version: str | None = None
    """Version of that suite: a hash of all its texts."""


def list_problems(variant: str | None = None, level: int | None = None) -> list[Problem]:
    """The problems that ship with Popcorn, popcorn before original, by level and number. Raises UnknownProblem for an unknown variant."""
    if variant is not None and variant not in VARIANTS:
        raise UnknownProblem(f"there is no variant {variant!r}; expected one of {', '.join(VARIANTS)}")
    return [one for one in _shipped() if variant in (None, one.variant) and level in (None, one.level)]


def find_problem(text: str) -> Problem:
    """The problem of an id (`popcorn/L1/29`, `popcorn/L1/29_logsumexp…`, `L1/29` where one variant has it, `kernelbench/L1/23` of an
    imported suite) or of a path to a .py file.

    Raises UnknownProblem with the nearest ids, MissingFile for a path that is not there, BadProblem for a file that is not a problem.
    """
    is_file = Path(text).expanduser().is_file()
    match = None if is_file else _ID.fullmatch(text.strip())
    if match:
        found = [one for one in _shipped() if _fits(one, match)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownProblem(f"{text!r} could be {' or '.join(one.id for one in found)}; say which variant")
    if not is_file and not match:
        from popcorn.suites.shelved import find_shelved  # it needs this module

        shelved = find_shelved(text)
        if shelved is not None:
            return shelved
    if is_file or (text.endswith(".py") and not match):
        return _read_path(text)
    nearest = _nearest(text)
    hint = f"nearest: {', '.join(nearest)}; " if nearest else ""
    raise UnknownProblem(f"no problem is called {text[:200]!r}; {hint}see `popcorn problems list`, or give the path of a .py file")


def statement(problem: Problem, size: Size = "full") -> str:
    """The reference as an agent will see it: runnable with torch alone, sizes as ranges, without cost formulas; the same text every time.

    `size` is the machine for which the ranges hold. Files of other benchmarks are shown as they are.
    """
    return write_statement(problem.source, problem.id, facts(problem).dims, size)


def facts(problem: Problem) -> Facts:
    """What the file declares (sizes, domain, gradients, …), read without running it."""
    return read_facts(problem.source, problem.id)


def suite_version(variant: str) -> str:
    """Version of a variant that ships with Popcorn: a hash of its problems' texts, 12 hex digits."""
    return hashlib.sha256("\n".join(sorted(one.hash for one in list_problems(variant))).encode()).hexdigest()[:12]


def hash_source(source: str) -> str:
    """SHA-256 of the text with line ends, trailing spaces and blank ends evened out, 16 hex digits."""
    lines = [line.rstrip() for line in source.removeprefix("\ufeff").splitlines()]
    return hashlib.sha256("\n".join(lines).strip("\n").encode()).hexdigest()[:16]


@functools.cache
def _shipped() -> tuple[Problem, ...]:
    return tuple(
        _shipped_problem(path, variant, level)
        for variant in VARIANTS
        for level in range(1, 10)
        for path in sorted((SUITES / variant / f"L{level}").glob("*.py"), key=_number)
        if _FILE.fullmatch(path.name)
    )


def _number(path: Path) -> int:
    match = _FILE.fullmatch(path.name)
    return int(match[1]) if match else 0


def _shipped_problem(path: Path, variant: str, level: int) -> Problem:
    match = _FILE.fullmatch(path.name)
    assert match is not None
    source = path.read_text(encoding="utf-8")
    return Problem(
        id=f"{variant}/L{level}/{match[1]}",
        variant=variant,
        level=level,
        number=int(match[1]),
        name=match[2],
        path=str(path),
        source=source,
        hash=hash_source(source),
        origin="suite",
    )


def _fits(problem: Problem, wanted: re.Match[str]) -> bool:
    return (
        wanted["variant"] in (None, problem.variant)
        and int(wanted["level"]) == problem.level
        and int(wanted["number"]) == problem.number
        and problem.name.startswith(wanted["name"] or "")
    )


def _read_path(text: str) -> Problem:
    path = Path(text).expanduser()
    if path.suffix != ".py":
        raise BadProblem(f"{text} is not a .py file; expected a Python file with Model, get_inputs and get_init_inputs")
    if not path.is_file():
        raise MissingFile(f"{text} does not exist or is not a file; check the path, or see `popcorn problems list`")
    path = path.resolve()
    for one in _shipped():
        if Path(one.path).resolve() == path:
            return one
    source = connected(with_model(_read_source(path, text)), path)
    beside = imported_from_beside(parse(source, text), path)
    if beside is not None:
        raise BadProblem(f"{text} imports {beside}, {ANOTHER_FILE}")
    dialect = read_facts(source, text).dialect
    return Problem(
        id=text,
        name=re.sub(r"^\d+_", "", path.stem),
        path=str(path),
        source=source,
        hash=hash_source(source),
        origin="file" if dialect == "popcorn" else dialect,
    )


def _read_source(path: Path, text: str) -> str:
    try:
        return read_python(path)
    except MissingFile as error:
        raise MissingFile(f"{text} cannot be read: {error}; check its permissions") from error
    except BadProblem as error:
        raise BadProblem(f"{text} {error}; expected one problem's Python source") from error


def _nearest(text: str) -> list[str]:
    """Ids, all in the form `variant/L1/9_name`: whatever was meant, the name says whether it was this."""
    wanted = text.strip().lower()
    named = {one.id: f"{one.id}_{one.name}" for one in _shipped()}
    found = [name for name in named.values() if wanted and wanted in name.lower()][:5]
    found += [named[one] for one in difflib.get_close_matches(wanted, list(named), n=3, cutoff=0.6)]
    found += difflib.get_close_matches(wanted, list(named.values()), n=3, cutoff=0.3)
    return list(dict.fromkeys(found))[:5]
