"""The text of a function with everything at the top of its file that it uses: its kernels are part of what was measured. Without torch."""

import ast
import inspect
import io
import symtable
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from popcorn.ops.signature import BadOp


def file_of(function: Callable[..., Any]) -> Path:
    """The file in which a function stands. Raises BadOp where there is none: fresh processes must read it."""
    file = inspect.getsourcefile(function)
    if file is None or not Path(file).is_file():
        raise BadOp(f"{function.__name__} stands in no file, and fresh processes must read it; put it into a .py file")
    return Path(file).resolve()


def text_of(function: Callable[..., Any]) -> str:
    """The function's text, after those of all that it names in its file, however far: kernels, helpers, constants, sources in strings.

    What it imports, from another file of the user's, too, is not in it.
    """
    own = inspect.getsource(function)
    tops: dict[str, list[str]] = {}
    whole = file_of(function).read_text(encoding="utf-8")
    every = io.StringIO(whole).readlines()
    for statement in ast.parse(whole).body:
        decorators = [one.lineno for one in getattr(statement, "decorator_list", [])]
        lines = every[min([statement.lineno, *decorators]) - 1 : statement.end_lineno]
        for name in _bound(statement):
            tops.setdefault(name, []).append("".join(lines))
    used: dict[str, None] = {}
    open_texts = [textwrap.dedent(own)]
    while open_texts:
        for name in sorted(_names(open_texts.pop())):
            for text in tops.get(name, ()):
                if name != "_" and text.strip() != own.strip() and text not in used:
                    used[text] = None
                    open_texts.append(text)
    return "\n".join([*sorted(used, key=whole.index), own])


def _bound(top: ast.stmt) -> Iterator[str]:
    """Names that a statement gives, `if`, `try` and `with` those within them."""
    opaque = isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    for one in [top] if opaque else ast.walk(top):
        if isinstance(one, ast.stmt):
            yield from _given(one)


def _given(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _names(text: str) -> set[str]:
    """Names of the module that a text refers to, in its functions and classes, too."""
    top = symtable.symtable(text, "text", "exec")
    tables, found = [top], set()
    while tables:
        table = tables.pop()
        found |= {one.get_name() for one in table.get_symbols() if one.is_referenced() and (table is top or one.is_global())}
        tables += table.get_children()
    return found
