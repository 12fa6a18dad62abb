"""Beside `popcorn search PROBLEM`: the list of searches, the proxy, the export to other frameworks."""

import json
from pathlib import Path
from typing import Annotated

import typer

from popcorn.errors import MissingTool
from popcorn.suites.problems import find_problem

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")]


def list_searches(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array, and nothing else.")] = False) -> None:
    """The searches on this machine, newest first."""
    from popcorn.cli.search_view import listed, show_listed

    if as_json:
        typer.echo(json.dumps(listed()))
    else:
        show_listed(listed())


def serve_searches(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8777,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="Searches at once; others wait.")] = 2,
    device: Device = "auto",
    configs: Annotated[Path | None, typer.Option(help="A TOML file: a table of a plan's fields a model name.")] = None,
) -> None:
    """Answer chat requests in OpenAI's protocol with a search and one submit_kernel call. Models: evolve/<config>."""
    try:
        import uvicorn
    except ImportError:
        raise MissingTool("search serve needs a web server: pip install 'popcornbench[service]'") from None
    from popcorn.agents.place import open_place
    from popcorn.search.proxy import make_app, read_configs

    place = open_place(device)
    try:
        uvicorn.run(make_app(place, read_configs(configs), at_once), host="127.0.0.1", port=port, log_level="warning")
    finally:
        place.engine.close()


def export_search(
    problem: Annotated[str, typer.Argument(help="Problem id or path.")],
    to: Annotated[Path, typer.Option(help="Folder to write.")],
    framework: Annotated[str, typer.Option("--for", help="openevolve or shinkaevolve.")] = "openevolve",
    seed_file: Annotated[Path | None, typer.Option(help="The kernel to begin with.")] = None,
    language: Annotated[str, typer.Option(help="Of the kernels.")] = "c",
) -> None:
    """Write a problem as another framework's task whose evaluator is ours, to compare the searches."""
    from popcorn.search.export import export
    from popcorn.search.starting import read_seeds

    seeds = read_seeds([seed_file] if seed_file else [])
    for path in export(find_problem(problem), framework, to, seeds[0] if seeds else None, language):
        typer.echo(str(path))
