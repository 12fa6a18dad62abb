"""`popcorn site`: build the pages of what was measured, serve them on this machine, publish them to a branch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from popcorn.site.build import Built
    from popcorn.site.gather import Source

app = typer.Typer(
    help="The pages of every result: build, serve, publish them.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)

To = Annotated[Path | None, typer.Option("--to", help="The folder of the site; the cache folder's site/ when left out.")]
Stores = Annotated[
    list[Path] | None,
    typer.Option("--store", help="A cache folder, a folder or file of records, or a Parquet file; repeat to compare several."),
]


@app.command("build")
def build_command(to: To = None, store: Stores = None) -> None:
    """Build the site, or bring it up to date; prints the first page's path."""
    typer.echo(_build(to, store).index)


@app.command("serve")
def serve_command(
    to: To = None,
    store: Stores = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 8764,
) -> None:
    """Build the site and serve it on this machine until Ctrl-C."""
    from popcorn.site.serving import server

    built = _build(to, store)
    with server(built.folder, port) as serving:
        typer.echo(f"http://127.0.0.1:{serving.server_address[1]}/")
        serving.serve_forever()


@app.command("publish")
def publish_command(
    repository: Annotated[Path, typer.Option(help="A clone of the repository.")] = Path(),
    branch: Annotated[str, typer.Option(help="The branch; made when there is none.")] = "gh-pages",
    folder: Annotated[str, typer.Option(help="Where in the branch.")] = ".",
    remote: Annotated[str, typer.Option(help="Where to push; nowhere when the repository has no such remote.")] = "origin",
    watch: Annotated[float | None, typer.Option(min=1, help="Again every so many seconds, until stopped.")] = None,
    to: To = None,
    store: Stores = None,
) -> None:
    """Build the site and commit it to a branch of a repository. Nothing is forced, other files stay."""
    from popcorn.site.publish import publish
    from popcorn.site.publish import watch as keep_publishing

    built = _build(to, store)
    if watch is not None:
        keep_publishing(built.folder, repository, watch, lambda: _build(to, store), branch, folder, remote, said=typer.echo)
        return
    done = publish(built.folder, repository, branch, folder, remote)
    pushed = "pushed" if done.pushed else "not pushed: the repository has no such remote"
    typer.echo(
        f"{done.changed} file{'' if done.changed == 1 else 's'} changed, commit {done.commit[:10]}, {pushed}"
        if done.commit
        else "nothing had changed"
    )


def _build(to: Path | None, stores: list[Path] | None) -> "Built":
    from popcorn.cli.progress import progress_line
    from popcorn.site.build import build

    with progress_line() as said:
        built = build(_sources(stores), to, progress=lambda done, of: said(f"{done} of {of} pages"))
    for sentence in built.warnings[:20]:
        typer.echo(f"popcorn: {sentence}", err=True)
    typer.echo(f"pages: {built.made} made, {built.kept} up to date; files removed: {built.removed}", err=True)
    return built


def _sources(stores: list[Path] | None) -> "list[Source] | None":
    from popcorn.records.sources import EXPECTED, source_of
    from popcorn.records.store import Store
    from popcorn.site.gather import Source

    found: list[Source] = []
    for path in stores or ():
        label = path.stem if path.is_file() else path.name
        while label in {one.label for one in found}:
            label += "'"
        source = Source(label, source_of(path), path / "runs", path / "searches")
        if (
            isinstance(source.tables, Store)
            and not len(source.tables)
            and not (path / "runs").is_dir()
            and not (path / "searches").is_dir()
        ):
            typer.echo(f"popcorn: {path} holds no record; a store is {EXPECTED}.", err=True)
        found.append(source)
    return found or None
