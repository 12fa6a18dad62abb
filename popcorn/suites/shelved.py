"""Problems of imported suites, by id: `kernelbench/L1/23`, `kernelbench@3fa9c2/L1/23`. Free of torch; runs nothing of a problem."""

import difflib
import re

from popcorn.errors import BadProblem, MissingFile, UnknownProblem
from popcorn.suites.facts import read_facts
from popcorn.suites.importing import shelf
from popcorn.suites.importing.found import read_text
from popcorn.suites.problems import Problem, hash_source

_ID = re.compile(r"(?P<suite>[A-Za-z][\w.-]{0,40})(?:@(?P<version>[0-9a-f]{4,12}))?/(?P<key>[\w./-]{1,200}?)(?:\.py)?")


def find_shelved(text: str) -> Problem | None:
    """The problem of an imported suite; None where the text names no imported suite. Raises UnknownProblem for a key that the suite lacks."""
    match = _ID.fullmatch(text.strip())
    if match is None or match["suite"] not in shelf.names():
        return None
    suite = shelf.get(match["suite"], match["version"])
    key = match["key"]
    found = [one for one in suite.entries if key in (one.key, f"{one.key}_{one.name}", one.name)]
    found = [one for one in found if one.key == key] or found
    if len(found) == 1:
        return problem_of(suite, found[0], pinned=match["version"] is not None)
    if found:
        raise UnknownProblem(
            f"{text[:100]!r} could be {' or '.join(f'{suite.name}/{one.key}' for one in found[:5])}; give one of these ids"
        )
    near = difflib.get_close_matches(key, [one.key for one in suite.entries] + [one.name for one in suite.entries], n=3, cutoff=0.5)
    hint = f"nearest: {', '.join(f'{suite.name}/{one}' for one in near)}; " if near else ""
    raise UnknownProblem(f"the suite {suite.name} has no problem {key[:100]!r}; {hint}see `popcorn problems list --suite {suite.name}`")


def list_shelved(name: str) -> list[Problem]:
    """The problems of an imported suite that run, in its order."""
    suite = shelf.get(name)
    return [problem_of(suite, one, pinned=False) for one in suite.entries if one.file is not None]


def problem_of(suite: shelf.Suite, entry: shelf.Entry, pinned: bool) -> Problem:
    """An entry as a problem. Raises BadProblem with the import's reason where it cannot run, or where the shelf was changed by hand."""
    shown = f"{suite.name}@{suite.version}/{entry.key}" if pinned else f"{suite.name}/{entry.key}"
    if entry.file is None:
        raise BadProblem(f"{shown} ({entry.where}) cannot run: {entry.reason}")
    path = shelf.text_path(suite, entry)
    try:
        source = read_text(path)
    except MissingFile as error:
        raise BadProblem(f"{shown} is no longer on the shelf ({error}); import the suite again") from error
    if hash_source(source) != entry.hash:
        raise BadProblem(f"{shown} was changed on the shelf after its import; import the suite again")
    dialect = read_facts(source, shown).dialect
    return Problem(
        id=shown,
        level=entry.level,
        number=entry.number,
        name=entry.name,
        path=str(path),
        source=source,
        hash=entry.hash or "",
        origin="file" if dialect == "popcorn" else dialect,
        suite=suite.name,
        suite_version=suite.version,
    )
