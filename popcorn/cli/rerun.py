"""`popcorn rerun RECORD`: evaluate what a record holds again, with its own seed, and set the two side by side."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from popcorn.cli.eval import judge, tell
from popcorn.cli.side_by_side import print_both
from popcorn.errors import BadProblem, BadRecord, MissingFile
from popcorn.records.migrations import read_record
from popcorn.schema.record import Record
from popcorn.schema.verdict import EXIT_CODES
from popcorn.suites.problems import Problem, find_problem
from popcorn.worker.request import Request

LARGEST_BYTES = 64 << 20
"""Of a record's raw JSON."""


def rerun(
    record: Annotated[str, typer.Argument(help="Id of a record, or its first digits; or a .json that a page offers.")],
    device: Annotated[str | None, typer.Option(help="Another device than the record's: cpu, cuda or cuda:INDEX.")] = None,
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for taking turns with the reference.")] = 2.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with both records, and nothing else.")] = False,
) -> None:
    """Run a recorded evaluation again, side by side.

    The same candidate, problem text, case and secret seed; the exit code is that of the new outcome, as with `popcorn eval`.
    """
    from popcorn.records.store import default_store

    store = default_store()
    old = read_raw(Path(record)) if record.endswith(".json") else store.get(record)
    tell(store.warnings)
    new = judge(request_of(old, device, budget))
    if json:
        print(json_text.dumps({"recorded": old.model_dump(mode="json"), "now": new.model_dump(mode="json")}))
    else:
        print_both(old, new)
    raise typer.Exit(EXIT_CODES[new.verdict.outcome])


def read_raw(path: Path) -> Record:
    """The record of a file such as a page's raw JSON. Raises MissingFile, BadRecord."""
    if not path.is_file():
        raise MissingFile(f"{str(path)[:200]} is no file; save the raw JSON of a verdict's page there, or give a record's id.")
    if path.stat().st_size > LARGEST_BYTES:
        raise BadRecord(f"{path} is larger than any record ({LARGEST_BYTES >> 20} MiB); give the raw JSON of one verdict.")
    try:
        found = json_text.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{path} is not JSON; save the raw JSON of a verdict's page.") from error
    if not isinstance(found, dict) or "subject" not in found:
        raise BadRecord(f"{path} holds no record; save the raw JSON of a verdict's page, not that of a whole run.")
    return read_record(found)


def request_of(old: Record, device: str | None = None, budget_s: float = 2.0) -> Request:
    """The request that a record answers. Raises BadRecord when it holds no candidate, BadProblem when the problem's text is another now."""
    subject = old.subject
    if old.kind == "op":
        return _op_request(old, device, budget_s)
    if old.kind != "evaluation" or subject.source is None:
        raise BadRecord(f"record {old.id} is {old.kind} {subject.implementation!r} and holds no candidate; give the id of an evaluation.")
    return Request(
        problem=same_problem(old),
        source=subject.source,
        language=subject.language,
        name=subject.name or "candidate.py",
        precision=old.case.precision,
        gradient=old.case.gradient,
        device=device or ("cpu" if old.machine.kind == "cpu" else f"cuda:{old.machine.device_index or 0}"),
        budget_s=budget_s,
        compile_baseline=old.measurement.timing is None or old.measurement.timing.compiled is not None,
        sizes=old.provenance.sizes or "any",  # the same seed draws other sizes where another kind is asked for
        seed=old.provenance.seed,
    )


def _op_request(old: Record, device: str | None, budget_s: float) -> Request:
    """The request of a library's row. BadRecord where the op or the implementation is another text now, or where a user's file declared it."""
    from popcorn.bench.asking import Settings, request_for
    from popcorn.ops.registry import UnknownOp, find_op
    from popcorn.worker.writing import candidate_hash

    subject = old.subject
    try:
        op = find_op(subject.problem)
        now = (op.hash, candidate_hash(op.implementations[subject.implementation].source))
    except (UnknownOp, KeyError):
        raise BadRecord(
            f"record {old.id} is of {subject.problem}[{subject.implementation!r}], which the library does not have; `popcorn ops {subject.problem}` shows what it has."
        ) from None
    if now != (subject.problem_hash, subject.candidate_hash):
        raise BadRecord(
            f"{subject.problem}[{subject.implementation!r}] is another text now than when record {old.id} was made; `popcorn bench run {subject.problem}` measures it anew."
        )
    settings = Settings(device or ("cpu" if old.machine.kind == "cpu" else f"cuda:{old.machine.device_index or 0}"), budget_s)
    return request_for(op, subject.implementation, old.case, settings).model_copy(
        update={"seed": old.provenance.seed, "sizes": old.provenance.sizes or "any"}
    )


def same_problem(old: Record) -> Problem:
    """The record's problem, when its text is still the one that was judged. Raises BadProblem else, UnknownProblem when it is gone."""
    found = find_problem(old.subject.problem)
    if found.hash != old.subject.problem_hash:
        raise BadProblem(
            f"{found.id} is another text now ({found.hash}) than when record {old.id} was made ({old.subject.problem_hash}): "
            "results of different texts never mix; the record holds the old text under subject.reference."
        )
    return found
