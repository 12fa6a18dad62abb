"""What was found, wherever it is: the best of a search, the final kernel of an agent's run, the candidate of a record, or a file."""

import json
from dataclasses import dataclass
from pathlib import Path

from popcorn.errors import BadRecord, BadSearch
from popcorn.reading import read_kernel
from popcorn.records.runs import FILE, default_runs, read_run
from popcorn.records.store import Store
from popcorn.schema.case import Frozen
from popcorn.toolchain.languages import SUFFIX, detect_language

BEST = "best.json"


class Best(Frozen):
    """The best of a search, in its folder."""

    source: str
    """The text."""
    language: str
    """What it is written in."""
    problem: str
    """Problem id."""
    program: str
    """Program id within the search."""
    record_id: str | None = None
    """Its record."""
    speedup: float | None = None
    """Pooled over all judgements."""
    made_by: str = ""
    """Proposer or model."""


@dataclass(frozen=True)
class Winner:
    """A kernel with where it came from."""

    source: str
    language: str
    problem: str | None
    origin: dict[str, str]
    """Kind, id, record, model: for provenance."""


def searches_folder() -> Path:
    """Where searches are: `$POPCORN_CACHE_DIR/searches`."""
    return default_runs().parent / "searches"


def kernel_file(language: str) -> str:
    """Name of the file that holds the best kernel, beside best.json."""
    return "best" + SUFFIX.get(language, ".py")


def find_winner(text: str, store: Store) -> Winner:
    """By a search's id or folder, a run's id or folder, a record's id, or a kernel file. Raises BadSearch with what was expected."""
    for folder in (Path(text), searches_folder() / text):
        if (folder / BEST).is_file():
            return _of_search(folder)
        if (folder / "search.json").is_file():
            raise BadSearch(f"the search {text} has no correct kernel yet; give it more evaluations, or adopt another run.")
    if Path(text).is_file() and Path(text).suffix in (".c", ".cpp", ".cc", ".cu", ".py"):
        source = read_kernel(Path(text))
        return Winner(source, detect_language(text, source), None, {"kind": "file", "id": Path(text).name})
    for path in (Path(text) / FILE, *default_runs().rglob(f"{text}/{FILE}")):
        if path.is_file():
            return _of_run(path)
    try:
        record = store.get(text)
    except BadRecord:
        raise BadSearch(
            f"{text!r} is no search, run, record or kernel file; see `popcorn search list`, or give the path of a file."
        ) from None
    if not record.verdict.correct or not record.subject.source:
        raise BadSearch(f"the record {record.id} is {record.verdict.outcome}; only a correct kernel can be adopted.")
    subject = record.subject
    return Winner(subject.source or "", subject.language, subject.problem, {"kind": "record", "id": record.id, "record": record.id})


def _of_search(folder: Path) -> Winner:
    best = Best.model_validate_json((folder / BEST).read_text(encoding="utf-8"))
    origin = {"kind": "search", "id": folder.name, "program": best.program, "record": best.record_id or "", "model": best.made_by}
    return Winner(best.source, best.language, best.problem, origin)


def _of_run(path: Path) -> Winner:
    run = read_run(path)
    if run.outcome != "correct" or not run.candidate:
        raise BadSearch(f"the run {run.id} ended with {run.outcome or 'nothing yet'}; only a correct kernel can be adopted.")
    origin = {"kind": "run", "id": run.id, "record": run.record_id or "", "model": run.model}
    return Winner(run.candidate, run.language, run.problem, origin)


def told(origin: dict[str, str]) -> str:
    """`search evolve-1f0c, program 12-ab34cd`."""
    return ", ".join(f"{name} {value}" for name, value in origin.items() if value and name not in ("kind", "id")) or json.dumps(origin)
