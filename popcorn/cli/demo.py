"""`popcorn demo`: honest candidates and two cheats judged on this machine, with their cards and why the cheats were caught."""

import json as json_text
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from popcorn.cli.eval import tell
from popcorn.cli.progress import progress_line
from popcorn.demo.samples import SAMPLES, Sample
from popcorn.schema.record import Record
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import detect_language
from popcorn.worker.request import Request

if TYPE_CHECKING:
    from rich.console import Console

TRIALS = 5


def demo(
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    budget: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds for taking turns, for each candidate.")] = 2.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array of records, and nothing else.")] = False,
) -> None:
    """Judge honest kernels and two cheats on this machine.

    The exit code is 0 when every honest one is correct and every cheat is caught, else 1.
    """
    from rich.console import Console

    from popcorn.cli.card import short_card
    from popcorn.cli.printing import WIDTH, print_within
    from popcorn.evaluate import evaluate
    from popcorn.records.store import default_store
    from popcorn.worker.bench import Bench

    console = Console(highlight=False, emoji=False, quiet=json)
    width = min(console.width, WIDTH)
    store = default_store()
    store.check_writable()
    records: list[Record] = []
    with Bench(device) as bench:
        for number, sample in enumerate(SAMPLES, 1):
            title = f"{number} of {len(SAMPLES)}, {sample.title}:"
            with progress_line(title) as progress:
                record = evaluate(request_of(sample, device, budget, bench.cuda), bench, store, progress)
            records.append(record)
            console.print(f"{title} {sample.why}", style="bold", markup=False, width=width)
            print_within(short_card(record), console)
    tell(store.warnings)
    if json:
        print(json_text.dumps([record.model_dump(mode="json") for record in records]))
    else:
        _summarise(console, records, bench.cuda)
        _show_site(console)
    raise typer.Exit(0 if all(as_expected(*pair) for pair in zip(SAMPLES, records, strict=True)) else 1)


def request_of(sample: Sample, device: str, budget_s: float, gpu: bool) -> Request:
    """A small evaluation of one sample."""
    path = sample.path(gpu)
    source = path.read_text(encoding="utf-8")
    return Request(
        problem=find_problem(sample.problem), source=source, language=detect_language(path, source), name=path.name, device=device,
        gradient="grad" if sample.backward else "none", budget_s=budget_s, trials=TRIALS, compile_baseline=False, counters=False,
        static_gate=False,  # it shows what holds without reading texts
    )  # fmt: skip


def as_expected(sample: Sample, record: Record) -> bool:
    """Honest and correct, or a cheat and named as one."""
    if sample.honest:
        return record.verdict.correct
    return record.verdict.outcome == "cheated"


def _summarise(console: "Console", records: list[Record], gpu: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from popcorn.cli.facts_of import ratio_between
    from popcorn.cli.printing import WIDTH, print_within
    from popcorn.units import UNKNOWN

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("candidate", "problem", "outcome", "speedup over eager", "as expected"):
        table.add_column(heading, overflow="fold")
    for sample, record in zip(SAMPLES, records, strict=True):
        timing = record.measurement.timing
        speedup = ratio_between(timing.speedup) + (" unfit" if timing.control.fit is False else "") if timing else UNKNOWN
        expected = "yes" if as_expected(sample, record) else "NO"
        table.add_row(*(Text(cell) for cell in (sample.title, sample.problem, record.verdict.outcome, speedup, expected)))
    width = min(console.width, WIDTH)
    print_within(table, console)
    path = _shown(SAMPLES[1].path(gpu))
    steps = {
        f"popcorn eval {SAMPLES[1].problem} {path}": "the same with everything measured",
        f"popcorn rerun {records[1].id}": "the fused one again, side by side",
        "popcorn problems list": "what else there is to solve",
        "popcorn doctor": "what this machine can measure",
    }
    if any(record.measurement.timing and record.measurement.timing.control.fit is False for record in records):
        console.print(
            Text(
                "unfit: the machine was too noisy for a claim of speed; the verdicts stand. On an idle machine, or with --budget 15, it has more to say."
            ),
            width=width,
        )
    there = shutil.which("popcorn")
    activate = (
        "" if there and Path(there).parent == Path(sys.prefix) / "bin" else f" (first: source {_shown(Path(sys.prefix))}/bin/activate)"
    )
    console.print(Text(f"\nWhere to look next{activate}:"))
    for command, what in steps.items():
        console.print(Text(f"  {command}\n      {what}"), width=max(width, len(command) + 2), soft_wrap=True)


def _show_site(console: "Console") -> None:
    """The results as pages, where the libraries for them are installed."""
    from rich.text import Text

    from popcorn.errors import MissingTool
    from popcorn.site.build import build

    try:
        built = build()
    except MissingTool as error:
        console.print(Text(f"\nPages of these results: {error}"), soft_wrap=True)
        return
    tell(built.warnings)
    console.print(Text(f"\nThese results as pages: {built.index}"), soft_wrap=True)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
