"""`popcorn doctor`: what this machine is, what works on it, what does not, and the fix. Starts without torch."""

import json as json_text
import os
from dataclasses import asdict
from importlib.util import find_spec
from typing import Annotated

import typer

from popcorn.devices.facts import Fact, gather
from popcorn.schema.machine import Machine

WIDTH = 80
_COLOURS = {"works": "green", "absent": "yellow", "does not apply": "dim"}
_MARKS = {"works": "works", "absent": "no", "does not apply": "—"}


def doctor(
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    measure: Annotated[bool, typer.Option("--measure", help="Measure bandwidth and flop rates first, and keep them.")] = False,
) -> None:
    """Show what this machine is, what works on it and what does not, each with its fix."""
    from popcorn.devices.probe import probe
    from popcorn.home import cache_folder

    machine = probe(device)
    if measure:
        _measure(machine)
    facts = [*gather(machine, cache_folder()), _backends(), _models()]
    if json:
        print(json_text.dumps({"machine": machine.model_dump(), "facts": [asdict(fact) for fact in facts]}, indent=1))
    else:
        show(machine, facts)


def _backends() -> Fact:
    """Installed packages that implement ops of the library."""
    from popcorn.devices.host import package_version
    from popcorn.ops.packages import PACKAGES

    found = {one.name: version for one in PACKAGES.values() if (version := package_version(one.name))}
    if found:
        return Fact("backends", "works", ", ".join(f"{name} {version}" for name, version in found.items()))
    return Fact(
        "backends", "absent", "none beside torch and our own kernels", "pip install 'popcornbench[liger]', or another of docs/library.md"
    )


def _models() -> Fact:
    """Models of models.toml that could be asked: their keys are set, or they need none."""
    from popcorn.agents.models import models

    if find_spec("inspect_ai") is None:
        return Fact("models", "absent", "agents need Inspect", "pip install 'popcornbench[agents]'")
    rows = models().values()
    keyed = [row.name for row in rows if row.key is not None and os.environ.get(row.key)]
    fix = None if keyed else "set a key, such as " + ", ".join([row.key for row in rows if row.key is not None][:2])
    return Fact("models", "works", "scripted, baseline and local ones" + "".join(f", {name}" for name in keyed), fix)


def show(machine: Machine, facts: list[Fact]) -> None:
    """Print the table: one line a fact, the fix below those that lack something. At most 80 columns."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from popcorn.cli.printing import print_within

    console = Console()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in facts:
        colour = _COLOURS[fact.state]
        table.add_row(
            fact.name, f"[{colour}]{_MARKS[fact.state]}[/]", escape(fact.finding) + (f"\n→ {escape(fact.fix)}" if fact.fix else "")
        )
    console.print(f"[bold]{escape(machine.device_id)}[/]\n")
    print_within(table, console, WIDTH)


def _measure(machine: Machine) -> None:
    """Measure the ceilings in a clean child and keep them for later runs."""
    from popcorn.devices.ceilings import measure_in_child, save_ceilings
    from popcorn.home import cache_folder

    device = "cpu" if machine.kind == "cpu" else f"cuda:{machine.device_index}"
    save_ceilings(measure_in_child(device), machine, cache_folder() / "ceilings")
