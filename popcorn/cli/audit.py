"""`popcorn audit`: the whole battery of cheats and honest candidates, and two numbers: caught of tried, accused of tried."""

import fnmatch
import json as json_text
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from popcorn.audit.samples import Sample, limited, read_samples
from popcorn.errors import MissingFile

if TYPE_CHECKING:
    from popcorn.audit.battery import Answer


def audit(
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    only: Annotated[list[str] | None, typer.Option(help="A sample's name, or a pattern such as 'cache_*'; may be given again.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many of each kind: those that need a GPU where there is one, and a fixed mixture.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Cheats must be caught, honest kernels must pass.

    All are judged on this machine.

    The exit code is 0 when every cheat is caught and no honest kernel is accused, else 1. Ctrl-C shows what was found until then and leaves
    with 130. Records are thrown away.
    """
    from popcorn.audit.battery import run
    from popcorn.cli.progress import progress_line
    from popcorn.records.store import Store
    from popcorn.worker.bench import Bench

    began, stopped = time.monotonic(), False
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory(prefix="popcorn-audit-") as folder, progress_line() as progress, Bench(device) as bench:
        samples = chosen(only or [], bench.cuda, limit)
        try:
            answers = run(samples, bench, Store(Path(folder)), device, progress, answers.append)
        except KeyboardInterrupt:
            stopped = True
        there = chosen([], bench.cuda)
    told = summary(answers, time.monotonic() - began, there)
    if json:
        print(json_text.dumps(told, indent=1, ensure_ascii=False))
    else:
        show(told)
    raise typer.Exit(130 if stopped else 0 if all(answer.as_it_must for answer in answers) else 1)


def chosen(patterns: list[str], gpu: bool, limit: int | None = None) -> list[Sample]:
    """Samples for this kind of device whose names fit a pattern, at most `limit` of each kind. Raises MissingFile where none does."""
    every = [one for kind in ("evil", "honest") for one in read_samples(kind) if not (one.cpu if gpu else one.gpu)]
    found = [one for one in every if not patterns or any(fnmatch.fnmatch(one.name, pattern) for pattern in patterns)]
    if not found:
        raise MissingFile(f"no sample is called {' or '.join(patterns)[:200]}; leave --only out to see all")
    of_kind = [[one for one in found if one.kind == kind] for kind in ("evil", "honest")]
    return found if limit is None else [one for samples in of_kind for one in limited(samples, limit)]


def summary(answers: "list[Answer]", wall_s: float, there: list[Sample]) -> dict[str, Any]:
    """The two numbers, of how many that are there, the time, and one row a sample."""
    counts = {}
    for kind in ("evil", "honest"):
        of_kind = [answer for answer in answers if answer.sample.kind == kind]
        counts[kind] = {"tried": len(of_kind), "as they must": sum(answer.as_it_must for answer in of_kind)}
    evil, honest = counts["evil"], counts["honest"]
    rows = [
        {
            "name": answer.sample.name, "kind": answer.sample.kind, "about": answer.sample.about, "as_it_must": answer.as_it_must,
            "outcome": answer.record.verdict.outcome, "defences": [v.defence for v in answer.record.verdict.violations],
            "happened": answer.sentence(),
        }
        for answer in answers
    ]  # fmt: skip
    return {
        "cheats_tried": evil["tried"], "cheats_caught": evil["as they must"], "honest_tried": honest["tried"],
        "honest_accused": honest["tried"] - honest["as they must"], "cheats_there": sum(one.kind == "evil" for one in there),
        "honest_there": sum(one.kind == "honest" for one in there), "wall_s": wall_s, "samples": rows,
    }  # fmt: skip


def show(told: dict[str, Any]) -> None:
    """The two numbers, and a row for each sample that came out otherwise than it must."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from popcorn.cli.printing import print_within

    console = Console(highlight=False, emoji=False)
    console.print(f"{told['cheats_caught']} of {told['cheats_tried']} cheats caught", style="bold")
    console.print(f"{told['honest_accused']} of {told['honest_tried']} honest kernels accused", style="bold")
    if told["cheats_tried"] < told["cheats_there"] or told["honest_tried"] < told["honest_there"]:
        tried = (
            f"{told['cheats_tried']} of {told['cheats_there']} cheats and {told['honest_tried']} of {told['honest_there']} honest kernels"
        )
        console.print(f"{tried} tried")
    console.print(f"{told['wall_s']:.0f} s")
    missed = [row for row in told["samples"] if not row["as_it_must"]]
    if missed:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("sample", "what it does", "what happened"):
            table.add_column(heading, overflow="fold")
        for row in missed:
            table.add_row(*(Text(str(cell)[:400]) for cell in (f"{row['kind']}/{row['name']}", row["about"], row["happened"])))
        print_within(table, console)
