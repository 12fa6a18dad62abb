"""`popcorn rerun RECORD`: evaluate what a record holds again, with its own seed, and set the two side by side."""

import json as json_text
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from popcorn.cli.eval import judge, tell
from popcorn.errors import BadProblem, BadRecord
from popcorn.schema.measurement import Interval, Samples, Timing
from popcorn.schema.record import Record
from popcorn.schema.verdict import EXIT_CODES
from popcorn.suites.problems import Problem, find_problem
from popcorn.worker.request import Request

WIDTH = 100


def rerun(
    record: Annotated[str, typer.Argument(help="Id of a record, or its first digits.")],
    device: Annotated[str | None, typer.Option(help="Another device than the record's: cpu, cuda or cuda:INDEX.")] = None,
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for taking turns with the reference.")] = 10.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with both records, and nothing else.")] = False,
) -> None:
    """Run a recorded evaluation again, side by side.

    The same candidate, problem text, case and secret seed; the exit code is that of the new outcome, as with `popcorn eval`.
    """
    from popcorn.records.store import default_store

    store = default_store()
    old = store.get(record)
    tell(store.warnings)
    new = judge(request_of(old, device, budget))
    if json:
        print(json_text.dumps({"recorded": old.model_dump(mode="json"), "now": new.model_dump(mode="json")}))
    else:
        print_both(old, new)
    raise typer.Exit(EXIT_CODES[new.verdict.outcome])


def request_of(old: Record, device: str | None = None, budget_s: float = 10.0) -> Request:
    """The request that a record answers. Raises BadRecord when it holds no candidate, BadProblem when the problem's text is another now."""
    subject = old.subject
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
        seed=old.provenance.seed,
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


def print_both(old: Record, new: Record) -> None:
    """A table of key figures: recorded, now, and whether the intervals overlap."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "recorded", "now", ""):
        table.add_column(heading, overflow="fold")
    for row in compare(old, new):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table, width=min(console.width, WIDTH))


def compare(old: Record, new: Record) -> Iterator[tuple[str, str, str, str]]:
    """Rows of label, recorded, now, remark."""
    from popcorn.cli.facts_of import precision, ratio_between, seconds_between
    from popcorn.cli.plain import plain
    from popcorn.units import UNKNOWN, show_bytes, show_percent

    def plainly(label: str, of: Callable[[Record], object], compared: bool = False) -> tuple[str, str, str, str]:
        remark = ("the same" if of(old) == of(new) else "DIFFERENT") if compared else ""
        return label, plain(of(old), 160), plain(of(new), 160), remark

    def timed(label: str, of: Callable[[Timing], Interval | None], show: Callable[[Interval], str]) -> tuple[str, str, str, str]:
        ends = [of(one.measurement.timing) if one.measurement.timing else None for one in (old, new)]
        said = [UNKNOWN if end is None else show(end) for end in ends]
        return label, said[0], said[1], overlap(*ends)

    yield plainly("record", lambda r: r.id)
    yield plainly("made", lambda r: r.provenance.made[:19].replace("T", " "))
    yield plainly("outcome", lambda r: r.verdict.outcome, compared=True)
    yield plainly("why", lambda r: r.verdict.reason or UNKNOWN)
    yield plainly("case", lambda r: r.case.id, compared=True)
    yield plainly("device", lambda r: r.machine.id, compared=True)
    yield plainly("precision", lambda r: precision(r.verdict.precision))
    yield timed("time", lambda t: _interval(t.candidate), seconds_between)
    yield timed("eager", lambda t: _interval(t.baseline), seconds_between)
    yield timed("speedup", lambda t: t.speedup, ratio_between)
    yield timed("over compile", lambda t: t.speedup_compiled, ratio_between)
    yield plainly("memory", lambda r: show_bytes(r.measurement.memory.peak_bytes))
    yield plainly("speed of light", lambda r: show_percent(r.measurement.roofline.sol))


def overlap(old: Interval | None, new: Interval | None) -> str:
    """Whether two 95 % intervals share a value."""
    if old is None or new is None:
        return ""
    return "intervals overlap" if old.low <= new.high and new.low <= old.high else "intervals DO NOT overlap"


def _interval(samples: Samples) -> Interval:
    return Interval(value=samples.time_s, low=samples.low_s, high=samples.high_s)
