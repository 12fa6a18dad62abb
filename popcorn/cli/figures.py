"""`popcorn figures`: the planned figures as files, with the table behind each."""

import json as json_text
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer


def figures(
    number: Annotated[int | None, typer.Argument(help="One figure's number; all of them when left out.")] = None,
    to: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("figures"),
    json: Annotated[bool, typer.Option("--json", help="Print the tables as one JSON object, and write nothing.")] = False,
) -> None:
    """The ten figures as SVG and PNG, with their tables.

    A figure without data is named with the sweep that would fill it. The exit code is 1 when the one asked for has none.
    """
    from popcorn.cli.listing import width_here
    from popcorn.errors import MissingFile
    from popcorn.site.embedding import finite
    from popcorn.site.figures import every_figure
    from popcorn.site.figures.figure import to_csv, to_png, to_svg
    from popcorn.site.gather import default_sources, gather, open_sources

    chosen = [one for one in every_figure() if number in (None, one.number)]
    if not chosen:
        raise MissingFile(f"there is no figure {number}; they are numbered 1 to {len(every_figure())}.")
    sources = default_sources()
    with open_sources(sources) as tables:
        found = gather(sources, tables)
    made = {one.number: finite(one.rows(found.attempts)) for one in chosen}
    if json:
        typer.echo(json_text.dumps(made))
        return
    for one in chosen:
        if not made[one.number]:
            said = f"{one.number}  {one.title}: no data yet; filled by {one.fills}"
            typer.echo(fill(said, width_here(), subsequent_indent="   ", break_long_words=False, break_on_hyphens=False))
            continue
        to.mkdir(parents=True, exist_ok=True)
        path, spec = to / f"{one.number:02d}-{one.name}", one.paper(made[one.number])
        path.with_suffix(".svg").write_text(to_svg(spec), encoding="utf-8")
        path.with_suffix(".png").write_bytes(to_png(spec))
        path.with_suffix(".csv").write_text(to_csv(made[one.number]), encoding="utf-8")
        typer.echo(
            f"{one.number}  {one.title}: {path}.svg, .png, .csv ({len(made[one.number])} row{'' if len(made[one.number]) == 1 else 's'})"
        )
    raise typer.Exit(1 if number is not None and not made[number] else 0)
