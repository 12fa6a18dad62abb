"""`popcorn eval PROBLEM FILE`: judge a kernel file, measure it, print its card."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from popcorn.errors import UnwritableStore
from popcorn.reading import read_kernel
from popcorn.schema.case import Precision
from popcorn.schema.record import Record
from popcorn.schema.verdict import EXIT_CODES
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import detect_language
from popcorn.worker.request import Request


def evaluate_file(
    problem: Annotated[str, typer.Argument(help="Id such as popcorn/L1/29, or the path of a problem file.")],
    file: Annotated[str, typer.Argument(help="The candidate: .py with class ModelNew, or .c, .cpp, .cu with popcorn_forward.")],
    language: Annotated[str | None, typer.Option(help="torch, triton, tilelang, cute, cuda, cpp, c, sycl; else found in the text.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    precision: Annotated[Precision, typer.Option(help="Element type of inputs, weights and outputs.")] = "float32",
    backward: Annotated[bool, typer.Option("--backward", help="Judge and time the gradients, too.")] = False,
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for taking turns with the reference.")] = 2.0,
    timeout: Annotated[float, typer.Option(min=1, max=3600, help="Seconds a command may take; a first call, three times that.")] = 60.0,
    counters: Annotated[bool, typer.Option("--counters/--no-counters", help="Hardware counters, where the machine has them.")] = True,
    compile: Annotated[bool, typer.Option("--compile/--no-compile", help="The reference under torch.compile as a second baseline.")] = True,
    track: Annotated[Literal["any", "custom"], typer.Option(help="custom: rejected where a library call does the work.")] = "any",
    held_out: Annotated[bool, typer.Option("--held-out", help="Trials draw sizes that agents' tools never draw.")] = False,
    known: Annotated[bool, typer.Option("--known", help="Asked before, word for word: print that record, and judge nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="FILE is a folder: judge every kernel that appears there.")] = False,
    model: Annotated[str, typer.Option(help="With --watch: the name under which the run is kept.")] = "external",
    json: Annotated[bool, typer.Option("--json", help="Print the record as one JSON object, and nothing else.")] = False,
) -> None:
    """Judge a kernel file, measure it, and print its card.

    The exit code says the outcome: 0 correct; 10 to 15 wrong; 20 cheated; 30 does not compile; 31 to 34 failed while it ran; 40 to 50 not
    judged; 2 and 60 to 71 a mistake in the command itself.
    """
    found = find_problem(problem)
    if watch and known:
        raise typer.BadParameter("--known tells what is known of one FILE, --watch judges what appears in a folder; leave one of them out")
    if watch:
        from popcorn.cli.watch import watch_folder

        return watch_folder(found, Path(file), model, language, device, budget)
    source = read_kernel(Path(file))
    request = Request(
        problem=found,
        source=source,
        language=detect_language(file, source, language),
        name=Path(file).name,
        precision=precision,
        gradient="grad" if backward else "none",
        device=device,
        budget_s=budget,
        timeout_s=timeout,
        counters=counters,
        compile_baseline=compile,
        track=track,
        sizes="held_out" if held_out else "any",
    )
    try:
        record = (find_judged(request) if known else None) or judge(request)
    except UnwritableStore as error:
        if isinstance(error.record, Record):
            print_record(error.record, json)
        raise
    show(record, json)


def find_judged(request: Request) -> Record | None:
    """The newest record of this very question here, and a line on stderr that says when it was made; None where there is none."""
    from popcorn.devices.probe import probe
    from popcorn.records.store import default_store
    from popcorn.worker.remembering import find_known

    store = default_store()
    record = find_known(request, store, probe(request.device))
    tell(store.warnings)
    if record is not None:
        made = record.provenance.made[:16].replace("T", " ")
        typer.echo(f"popcorn: judged at {made} UTC and not now; without --known it is judged again", err=True)
    return record


def judge(request: Request) -> Record:
    """Evaluate one request on a bench of its own, with a progress line; the record is in the store when this returns."""
    from popcorn.cli.progress import progress_line
    from popcorn.records.store import default_store
    from popcorn.worker.bench import Bench

    store = default_store()
    store.check_writable()
    with progress_line(request.name) as progress, Bench(request.device) as bench:
        from popcorn.evaluate import evaluate  # half a second, while the bench's own process imports torch

        record = evaluate(request, bench, store, progress)
    tell(store.warnings)
    return record


def tell(warnings: list[str]) -> None:
    """Warnings of the store, one a line, on stderr."""
    from popcorn.cli.plain import plain

    for sentence in warnings:
        typer.echo(f"popcorn: {plain(sentence, 500)}", err=True)


def show(record: Record, json: bool) -> None:
    """Print the card, or the record as JSON, and leave with the outcome's exit code."""
    print_record(record, json)
    raise typer.Exit(EXIT_CODES[record.verdict.outcome])


def print_record(record: Record, json: bool) -> None:
    """The card, or the record as JSON."""
    if json:
        print(record.model_dump_json())
    else:
        from popcorn.cli.card import print_card

        print_card(record)
