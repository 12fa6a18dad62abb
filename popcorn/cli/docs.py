"""Writes docs/columns.md from the nouns, docs/cli.md from the commands, docs/suites.md from the problems: `python -m popcorn.cli.docs`, or `--check` to only compare.

Imports without torch.
"""

import argparse
import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from pydantic import BaseModel

import popcorn
from popcorn.cli.main import app
from popcorn.cli.suites_page import suites_page

MODULES = ("case", "verdict", "measurement", "machine", "record", "run")
DOCS = Path(popcorn.__file__).parent.parent / "docs"
HELP_WIDTH = 80
COLUMNS_HEAD = """# Columns

Every field of every noun that crosses a process or reaches a disk, as the code defines it. Made by `python -m popcorn.cli.docs`; a
test keeps it true. Units stand in the names: `time_s` seconds, `energy_j` joules, `memory_bytes` bytes, `bandwidth_bytes_per_s`.
Unknown is `None`, with its reason beside it.
"""
CLI_HEAD = """# Commands

What `--help` says of each command. Made by `python -m popcorn.cli.docs`; a test keeps it true. Each outcome of `eval` has an exit code of
its own ([measuring.md](measuring.md)); a mistake in the command ends with 2 or with 60 to 71, one sentence and the next step.
"""


def modules() -> list[ModuleType]:
    """The schema's modules in reading order."""
    return [importlib.import_module(f"popcorn.schema.{name}") for name in MODULES]


def nouns(module: ModuleType) -> list[type[BaseModel]]:
    """Models that a module itself defines and that have fields, in the order written."""
    found = [value for value in vars(module).values() if inspect.isclass(value) and issubclass(value, BaseModel)]
    return [model for model in found if model.__module__ == module.__name__ and model.model_fields]


def fields(model: type[BaseModel]) -> list[tuple[str, str, str]]:
    """Name, type as written, and docstring of each of a model's own fields; the docstring is empty where none stands under it."""
    body = ast.parse(inspect.getsource(model)).body[0]
    assert isinstance(body, ast.ClassDef)
    rows = []
    for index, node in enumerate(body.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in model.model_fields:
            rows.append((node.target.id, ast.unparse(node.annotation), _text(body.body[index + 1 : index + 2])))
    return rows


def closed_sets(module: ModuleType) -> list[tuple[str, tuple[Any, ...]]]:
    """Literal types that a module defines by name, with their values."""
    names = [node.targets[0] for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.Assign)]
    pairs = [(name.id, getattr(module, name.id)) for name in names if isinstance(name, ast.Name)]
    return [(name, value.__args__) for name, value in pairs if getattr(value, "__origin__", None) is not None and "Literal" in repr(value)]


def columns_page() -> str:
    """The whole of columns.md."""
    parts = [COLUMNS_HEAD]
    for module in modules():
        parts.append(f"## {module.__name__.rpartition('.')[2]}\n\n{(module.__doc__ or '').strip()}\n")
        for name, values in closed_sets(module):
            parts.append(f"`{name}`: " + " · ".join(f"`{value}`" for value in values) + "\n")
        for model in nouns(module):
            rows = "\n".join(f"| `{name}` | `{_cell(kind)}` | {_cell(text)} |" for name, kind, text in fields(model))
            parts.append(f"### {model.__name__}\n\n{inspect.getdoc(model)}\n\n| field | type | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def helps(command: Any = None, name: str = "popcorn", parent: Any = None) -> Iterator[tuple[str, str]]:
    """Every command with its help at a width of 80, a group before its members; the same text in every terminal."""
    command = typer.main.get_command(app) if command is None else command
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=HELP_WIDTH)
    lines = command.get_help(context).splitlines()
    yield context.command_path, "\n".join(line.rstrip() for line in lines).strip()
    if hasattr(command, "list_commands"):
        for member in command.list_commands(context):
            yield from helps(command.get_command(context, member), member, context)


def commands_page() -> str:
    """The whole of cli.md."""
    return "\n".join([CLI_HEAD, *(f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps())])


PAGES: dict[str, Callable[[], str]] = {"columns.md": columns_page, "cli.md": commands_page, "suites.md": suites_page}
"""Generated page → what makes it."""


def main(arguments: list[str] | None = None) -> int:
    """Write the pages; with `--check` write nothing and return 1 when a page on disk differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare, exit 1 when a page is out of date")
    parser.add_argument("--to", type=Path, default=DOCS, help="the folder to write to (default: docs)")
    chosen = parser.parse_args(arguments)
    stale = [name for name, page in PAGES.items() if not _same(chosen.to / name, page())]
    if not chosen.check:
        chosen.to.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (chosen.to / name).write_text(PAGES[name](), encoding="utf-8")
    elif stale:
        print(f"{', '.join(stale)} out of date: run python -m popcorn.cli.docs", file=sys.stderr)
        return 1
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def _text(nodes: list[ast.stmt]) -> str:
    """The docstring in the statement after a field, on one line."""
    if nodes and isinstance(nodes[0], ast.Expr) and isinstance(nodes[0].value, ast.Constant) and isinstance(nodes[0].value.value, str):
        return " ".join(nodes[0].value.value.split())
    return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
