"""`popcorn bench view`, `diff`, `merge`, `export`, `check`: what is known, and what stores hold against each other."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from popcorn.errors import BadRecord

Tables = Annotated[
    list[Path] | None,
    typer.Option(
        "--table", help="Folders or files of records, Parquet or JSON lines; your own store when left out (`view`: and what ships)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array, and nothing else.")]
MOST_TOLD = 20


def add_to(app: typer.Typer) -> None:
    """Make them commands of `popcorn bench`."""
    for command in (view, diff, merge, export, check):
        app.command(command.__name__)(command)


def view(
    op: Annotated[str | None, typer.Argument(help="One op, case by case; all ops in summary when left out.")] = None,
    table: Tables = None,
    user: Annotated[bool, typer.Option("--user", help="Your own store alone, without the records that ship.")] = False,
    page: Annotated[Path | None, typer.Option(help="Write the explorer's pages to this folder and print the first one's path.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most rows.")] = 200,
    as_json: AsJson = False,
) -> None:
    """What is known, as a table, or as the explorer's pages."""
    from popcorn.bench.view import cases, list_cases, summarise, summary
    from popcorn.cli.printing import print_within

    if user and table:
        raise typer.BadParameter("--user and --table name two sources; give one of them")
    source = _source(table, user)
    if page is not None:
        from popcorn.site.build import build
        from popcorn.site.gather import Source

        built = build([Source("records", source)], page)
        typer.echo(built.folder / (f"ops/{op}.html" if op else "ops.html"))
        return
    if as_json:
        typer.echo(json.dumps(list_cases(source, op, limit) if op else summarise(source), indent=1))
    else:
        print_within(cases(source, op, limit) if op else summary(source))
    _tell(source)


def diff(
    before: Annotated[Path, typer.Argument(help="A folder or file of records, Parquet or JSON lines.")],
    after: Annotated[Path, typer.Argument(help="Another.")],
    as_json: AsJson = False,
) -> None:
    """Rows whose 95 % intervals no longer meet, and rows whose outcome changed. Exit code 1 where something became slower or wrong."""
    from popcorn.bench.view import difference_table, differences
    from popcorn.cli.printing import print_within

    sources = _source([before, after])
    rows = differences(*sources)
    _tell(sources)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    elif rows:
        print_within(difference_table(rows))
    else:
        typer.echo("no difference that the intervals show")
    raise typer.Exit(int(any((row["ratio"] or 0) > 1 or row["before"] == "correct" != row["after"] for row in rows)))


def merge(
    sources: Annotated[list[Path], typer.Argument(help="Folders or files of records, Parquet or JSON lines.")],
    to: Annotated[Path | None, typer.Option(help="The folder to add to; the user's own when left out.")] = None,
    scrub: Annotated[bool, typer.Option("--scrub-incomplete", help="Leave out faults of the harness and what was never timed.")] = False,
) -> None:
    """Add the records of other stores, by id. Nothing is removed; of several answers to one question the newest conclusive one counts."""
    from popcorn.records.exporting import incomplete
    from popcorn.records.store import Store, default_store
    from popcorn.records.tables import merge as add

    into = Store(to) if to else default_store()
    read = [_records(path) for path in sources]
    added = add(read, into, (lambda record: incomplete(record) is None) if scrub else (lambda _: True))
    _tell(read)
    typer.echo(f"{added} records added")


def export(
    to: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    op: Annotated[str | None, typer.Option(help="One op alone.")] = None,
    table: Tables = None,
    release: Annotated[
        bool, typer.Option("--release", help="Only what a release may hold (Parquet); what is left out is told by rule.")
    ] = False,
    evaluations: Annotated[
        bool, typer.Option("--evaluations", help="What `popcorn eval` and agents judged, in place of the ops' rows.")
    ] = False,
) -> None:
    """Write the newest conclusive row of each case to a file. CSV leaves out texts and raw samples; Parquet has everything."""
    from popcorn.records.exporting import export as write

    if release and evaluations:
        raise typer.BadParameter("a release holds rows of ops; leave --evaluations or --release out")
    if release:
        return _release(to, op, table)
    count = write(_source(table), to, "evaluation" if evaluations else "op", op)
    typer.echo(f"{count} {'evaluations' if evaluations else 'rows of ops'} written to {to}")


def _release(to: Path, op: str | None, table: list[Path] | None) -> None:
    from popcorn.bench.checking import shippable
    from popcorn.records.store import default_store
    from popcorn.records.tables import write_table

    if to.suffix != ".parquet":
        raise BadRecord(f"{to.name} is no .parquet file; a release is one.")
    records = [record for path in table or [default_store().folder] for record in _records(path) if op in (None, record.subject.problem)]
    kept, out = shippable(records)
    for rule, count in sorted(out.items()):
        typer.echo(f"left out: {count} rows that break “{rule}”", err=True)
    typer.echo(f"{write_table(kept, to)} rows written to {to}")


def check(
    store: Annotated[Path, typer.Argument(help="A folder or file of records, Parquet or JSON lines.")],
    release: Annotated[bool, typer.Option("--release", help="Also what a store must satisfy before it ships.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with a store. Exit code 1 where something is."""
    from popcorn.bench.checking import check as examine
    from popcorn.bench.checking import counted, unread

    records = _records(store)
    found = examine(records, release)
    found += unread(records)
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in found], indent=1))
        raise typer.Exit(int(bool(found)))
    for finding in found[:MOST_TOLD]:
        typer.echo(f"{finding.rule}: {finding.record}{' ' if finding.record else ''}{finding.reason}")
    for rule, count in sorted(counted(found).items()):
        typer.echo(f"{count} finding{'' if count == 1 else 's'} against “{rule}”", err=True)
    if not found:
        typer.echo("nothing is wrong with it" if release else "every line was read and ids are fine; --release asks for more", err=True)
    raise typer.Exit(int(bool(found)))


def _tell(sources: Any) -> None:
    """What of these stores could not be read."""
    from popcorn.records.store import Store

    for one in sources if isinstance(sources, list) else [sources]:
        for sentence in one.warnings[:MOST_TOLD] if isinstance(one, Store) else ():
            typer.echo(f"popcorn: {sentence}", err=True)


def _records(path: Path) -> Any:
    """Every record of a folder or a file."""
    from popcorn.records.exporting import read_parquet
    from popcorn.records.sources import source_of

    source = source_of(path)
    return read_parquet(source) if isinstance(source, Path) else source


def _source(paths: list[Path] | None, user: bool = True) -> Any:
    from popcorn.records.shipped import shipped_tables
    from popcorn.records.sources import source_of
    from popcorn.records.store import default_store

    if not paths:
        return default_store() if user else [default_store(), *shipped_tables()]
    found = [source_of(path) for path in paths]
    return found[0] if len(found) == 1 else found
