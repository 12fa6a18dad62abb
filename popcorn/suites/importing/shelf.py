"""The shelf: imported suites on disk, by name and version. A version is the hash of its problems' texts, so versions never mix.

`<cache>/suites/<name>/<version>/suite.json` beside the texts; `<cache>/suites/<name>/current` names the version that a bare id means.
"""

import contextlib
import hashlib
import re
import shutil
import tempfile
from pathlib import Path

from pydantic import ValidationError

from popcorn.errors import BadProblem, UnknownProblem
from popcorn.home import cache_folder
from popcorn.schema.case import Frozen

RESERVED = {"popcorn", "original", "L1", "L2", "L3", "L4"}


class Entry(Frozen):
    """One file of an imported suite, whether it runs or not."""

    key: str
    """Its id within the suite."""
    name: str
    """Name in snake case."""
    where: str
    """The file that it came from, relative to the folder."""
    level: int | None = None
    """Level, where the suite has levels."""
    number: int | None = None
    """Number within its level."""
    file: str | None = None
    """File on the shelf that holds its text; None where it cannot run."""
    hash: str | None = None
    """Hash of its text."""
    state: str = "runs"
    """`runs`; `shapes` where only its shapes were tried; `refused`."""
    reason: str | None = None
    """Why it was refused, or why only its shapes were tried."""
    remarks: tuple[str, ...] = ()
    """What was done to make it run."""


class Suite(Frozen):
    """An imported suite."""

    name: str
    """What ids begin with."""
    version: str
    """Hash of all texts, 12 hex digits."""
    format: str
    """The format that it was read in."""
    origin: str
    """Last part of the folder that it came from."""
    imported: str
    """UTC time of the import, ISO 8601."""
    entries: tuple[Entry, ...]
    """Every file, in the suite's order."""


def version_of(hashes: list[str]) -> str:
    """The version of a set of problems."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()[:12]


def check_name(name: str) -> None:
    """Raises BadProblem for a name that cannot begin an id."""
    if not re.fullmatch(r"[A-Za-z][\w.-]{0,40}", name) or name in RESERVED:
        raise BadProblem(
            f"a suite cannot be called {name[:60]!r}; expected letters, digits, '-', '_', and none of {', '.join(sorted(RESERVED))}"
        )


def folder() -> Path:
    """Where imported suites are."""
    return cache_folder() / "suites"


def keep(suite: Suite, texts: dict[str, str]) -> None:
    """Write a suite whole, then make it the current one. Raises BadProblem when the folder cannot be written."""
    target = folder() / suite.name / suite.version
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".new-"))
        for name, text in texts.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_text(text, encoding="utf-8")
        (fresh / "suite.json").write_text(suite.model_dump_json(indent=1), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
        (target.parent / "current").write_text(suite.version, encoding="utf-8")
    except OSError as error:
        raise BadProblem(
            f"the suite cannot be kept in {folder()} ({error.strerror}); set POPCORN_CACHE_DIR to a folder that can be written"
        ) from error


def names() -> list[str]:
    """Imported suites, by name."""
    return sorted(path.parent.name for path in folder().glob("*/current"))


def get(name: str, version: str | None = None) -> Suite:
    """A suite, the current version unless one is named. Raises UnknownProblem."""
    if name not in names():
        raise UnknownProblem(
            f"no suite is called {name[:60]!r}; imported are: {', '.join(names()) or 'none'}; see `popcorn problems import --help`"
        )
    home = folder() / name
    wanted = version or (home / "current").read_text(encoding="utf-8").strip()
    found = [path.name for path in home.iterdir() if path.name.startswith(wanted) and (path / "suite.json").is_file()]
    if len(found) != 1:
        raise UnknownProblem(f"the suite {name} has {'no' if not found else 'more than one'} version {wanted[:40]!r}; import it again")
    try:
        return Suite.model_validate_json((home / found[0] / "suite.json").read_text(encoding="utf-8"))
    except (ValidationError, OSError) as error:
        raise UnknownProblem(f"the suite {name} on the shelf cannot be read ({type(error).__name__}); import it again") from error


def others(suite: Suite) -> list[Suite]:
    """Other versions of a suite that are still on the shelf, the one that was imported last at the end."""
    found = []
    for path in (folder() / suite.name).glob("[!.]*/suite.json"):
        if path.parent.name != suite.version:
            with contextlib.suppress(UnknownProblem):
                found.append(get(suite.name, path.parent.name))
    return sorted(found, key=lambda one: one.imported)


def text_path(suite: Suite, entry: Entry) -> Path:
    """The file on the shelf that holds an entry's text."""
    assert entry.file is not None
    return folder() / suite.name / suite.version / entry.file
