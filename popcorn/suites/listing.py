"""What lists say of problems, kept in the cache folder by content. For lists alone: whatever a verdict depends on reads the file itself (`facts`).

Reading 400 syntax trees takes most of half a second. A kept answer belongs to a text's hash and to the code that read it, so that an edited
problem, one that was added or a newer Popcorn is read anew; a file that is torn, foreign or contradicts itself is made again.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem
from popcorn.home import cache_folder
from popcorn.records.appending import write_whole
from popcorn.suites.facts import Facts
from popcorn.suites.jitter import restore
from popcorn.suites.problems import Problem, facts

MAX_BYTES = 8_000_000
_READERS = ("facts.py", "jitter.py", "listing.py")
"""Code whose change makes a kept answer worthless."""


def listed_facts(problems: Sequence[Problem]) -> list[Facts]:
    """Of each problem its dialect, sizes, domain, summary and whether it has gradients: other facts are left at their defaults.

    Raises BadProblem for a text that breaks the contract, as `facts` does.
    """
    kept = _read()
    known = {one.hash: _listed(kept.get(one.hash)) for one in problems}
    found = [known[one.hash] or _told(facts(one)) for one in problems]
    if None in known.values():
        _write(kept, {one.hash: _kept(told) for one, told in zip(problems, found, strict=True)})
    return found


def _told(one: Facts) -> Facts:
    return Facts(one.dialect, one.dims, one.domain, one.differentiable, summary=one.summary)


def _kept(one: Facts) -> list[Any]:
    dims = {name: [*dim.parts()[:-1], list(dim.among)] for name, dim in one.dims.items()}
    return [one.dialect, dims, one.domain, one.differentiable, one.summary]


def _listed(kept: Any) -> Facts | None:
    """A kept answer; None where it is none that this module writes."""
    try:
        dialect, dims, domain, differentiable, summary = kept
        made = {name: restore(*parts) for name, parts in dims.items()}
        texts = all(one is None or (isinstance(one, str) and one.isprintable()) for one in (domain, summary))
        if dialect not in ("popcorn", "popcornbench", "kernelbench") or differentiable not in (None, True, False) or not texts:
            return None
        return Facts(dialect, made, domain, differentiable, summary=summary)
    except (TypeError, ValueError, AttributeError, BadProblem):
        return None


def _path() -> Path:
    return cache_folder() / "listing" / "problems.json"


@functools.cache
def _reader() -> str:
    here = Path(__file__).parent
    return hashlib.sha256(b"\0".join((here / name).read_bytes() for name in _READERS)).hexdigest()[:16]


def _read() -> dict[str, Any]:
    try:
        path = _path()
        if path.stat().st_size > MAX_BYTES:
            return {}
        found = json.loads(path.read_bytes())
        answers = found["answers"] if found["reader"] == _reader() else {}
        return answers if isinstance(answers, dict) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _write(kept: dict[str, Any], fresh: dict[str, Any]) -> None:
    """Whole or not at all. A folder that cannot be written costs the next list its time and nothing else."""
    text = json.dumps({"reader": _reader(), "answers": kept | fresh})
    if len(text) > MAX_BYTES:  # texts of other days have filled it
        text = json.dumps({"reader": _reader(), "answers": fresh})
    with contextlib.suppress(OSError):
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
