"""Bring a foreign suite in: read the folder, try every problem in a fenced child with limits, keep what runs on the shelf, say why for the rest."""

import datetime
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.facts import read_facts
from popcorn.suites.importing import shelf
from popcorn.suites.importing.formats import read_folder
from popcorn.suites.importing.found import Found
from popcorn.suites.importing.rows_of_code import SUFFIXES, files_of_rows, unpack
from popcorn.suites.importing.shelf import Entry, Suite
from popcorn.suites.importing.strangers import why_not
from popcorn.suites.problems import Problem, hash_source
from popcorn.worker.bench import Bench
from popcorn.worker.nursery import ChildDied, DeadlinePassed

SHAPES_S = 60.0
"""Longest that importing a file and trying its shapes may take."""
VALUES_S = 30.0
"""Longest that a run on real inputs may take."""
WORKERS = 2
"""Files tried at once on a machine without GPU."""
MEMORY_SHARE = 0.4
"""Share of the free memory that one problem may fill while it is tried."""


def bring_suite(folder: Path, bench: Bench, name: str | None, format_name: str, progress: Callable[[str], None]) -> Suite:
    """Import every problem of a folder and make the suite current. Raises PopcornError where the folder holds none.

    name: what ids begin with; by default the name of the format, `popcornbench` where a file uses that benchmark's injected name.
    """
    format_name, found = read_folder(folder, format_name)
    if name is None:
        injected = format_name == "kernelbench" and any("popcorn_pri" in one.source for one in found)
        name = "popcornbench" if injected else format_name
    shelf.check_name(name)
    budget = int(psutil.virtual_memory().available * MEMORY_SHARE)
    workers = 1 if bench.cuda else WORKERS

    def tried(one: Found) -> Entry:
        progress(f"{name}/{one.key}")
        return _entry(one, name, bench, budget // workers)

    with ThreadPoolExecutor(workers) as pool:
        entries = list(pool.map(tried, found))
    texts = {entry.file: one.source for entry, one in zip(entries, found, strict=True) if entry.file}
    for entry, one in zip(entries, found, strict=True):
        texts |= {f"beside/{entry.key}/{beside}": text for beside, text in one.files.items() if entry.file}
    version = shelf.version_of([f"{entry.key} {entry.hash or entry.reason}" for entry in entries])
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    suite = Suite(name=name, version=version, format=format_name, origin=folder.resolve().name, imported=now, entries=tuple(entries))
    shelf.keep(suite, texts)
    return suite


def _entry(one: Found, suite: str, bench: Bench, budget: int) -> Entry:
    entry = Entry(key=one.key, name=one.name, where=one.where, level=one.level, number=one.number, remarks=one.remarks)
    if one.refused:
        return entry.model_copy(update={"state": "refused", "reason": _one_line(one.refused)})
    try:
        dialect = read_facts(one.source, one.where).dialect
        problem = Problem(
            id=f"{suite}/{one.key}", name=one.name, path=one.where, source=one.source, hash=hash_source(one.source),
            origin="file" if dialect == "popcorn" else dialect,
        )  # fmt: skip
        state, reason, remarks = _try(problem, bench, budget, one.tensors)
    except PopcornError as error:
        return entry.model_copy(update={"state": "refused", "reason": _one_line(str(error))})
    if state == "refused":
        return entry.model_copy(update={"state": state, "reason": reason})
    kept = {"file": f"texts/{one.key}.py", "hash": problem.hash, "state": state, "reason": reason, "remarks": (*one.remarks, *remarks)}
    return entry.model_copy(update=kept)


def _try(problem: Problem, bench: Bench, budget: int, tensors: tuple[str, ...] = ()) -> tuple[str, str | None, list[str]]:
    """(state, reason, remarks) of a problem, tried in a child that may take so much memory and time and no more."""
    shared = bench.new_folder("shared")
    for place in ("in", "out"):
        (shared / place).mkdir(mode=0o700)
    size = "full" if bench.cuda else "cpu"
    stage, remarks = "import", []
    with bench.start(
        "stranger", bench.new_folder("stranger"), shared, memory_bytes=None if bench.cuda else budget, may_read=tensors
    ) as child:
        try:
            opening = {"problem": problem.model_dump(), "size": size, "precision": "float32", "gradient": False}
            opened = child.ask({"do": "open", **opening}, SHAPES_S)
            if "ok" not in opened:
                return _refused(opened)
            remarks = [one for one in opened["ok"]["remarks"] if "no size for machines" not in one]
            stage = "shapes"
            shapes = child.ask({"do": "try", "values": False}, SHAPES_S)
            needed = shapes.get("ok", {}).get("needed_bytes")
            if needed is not None and not bench.cuda and needed > budget:
                reason = f"holds {needed / 1e9:.1f} GB and may fill {budget / 1e9:.1f} GB here: only its shapes were tried"
                return "shapes", reason, remarks
            stage = "values"
            values = child.ask({"do": "try", "values": True}, VALUES_S)
            if "ok" in values:
                return "runs", None, remarks + values["ok"]["remarks"]
            if values["failed"]["outcome"] == "out_of_memory" and shapes.get("ok", {}).get("shapes"):
                return "shapes", "does not fit into the memory that it may fill here: only its shapes were tried", remarks
            return _refused(values)
        except DeadlinePassed as passed:
            if stage == "values":
                return "shapes", f"a run takes more than {VALUES_S:g} s on this machine: only its shapes were tried", remarks
            return "refused", f"was stopped: {stage} took more than {passed.seconds:g} s", remarks
        except ChildDied as died:
            return "refused", f"ended its process ({died.describe()}) at the step `{stage}`", remarks


def _refused(reply: dict) -> tuple[str, str, list[str]]:
    failed = reply.get("failed", {})
    reason = _one_line(str(failed.get("reason") or "gave no reason"))
    return "refused", f"out of memory: {reason}" if failed.get("outcome") == "out_of_memory" else reason, []


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]


def _unpacked(path: Path, into: Path) -> Path:
    try:
        return unpack(path, into)
    except BadProblem as error:
        raise (BadProblem(f"{path} {reason}") if (reason := why_not(path)) else error) from None


@contextmanager
def open_folder(path: str) -> Iterator[Path]:
    """The folder of a path; of a file of rows with code in a column, or of a data set of such files, one that is made for it, for as long as this
    lasts. Raises BadProblem for any other file."""
    folder = Path(path).expanduser()
    rows = [folder] if folder.is_file() and folder.suffix in (*SUFFIXES, ".json") else files_of_rows(folder) if folder.is_dir() else []
    if rows and (folder.is_file() or why_not(folder) is None):
        with tempfile.TemporaryDirectory(prefix="popcorn-rows-") as into:
            made = [_unpacked(one, Path(into)) for one in rows]
            yield made[0] if len(made) == 1 else Path(into)
        return
    if folder.is_file():
        raise BadProblem(f"{path} is a file; give the folder of a checkout or of a task (`popcorn problems check {path}` takes one file)")
    yield folder
