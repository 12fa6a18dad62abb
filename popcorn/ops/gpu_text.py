"""The text of a Triton implementation, with those of the modules that it is made of: what its records are held to, with triton or without it. Free of torch."""

import ast
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
SHARED = ("launching", "online", "powers", "sums", "tiles")
"""Modules that every one is made of."""


def gpu_text(path: Path, parts: Sequence[str] | None = None) -> str:
    """`parts` are names of further modules of popcorn.ops; None: those that the file itself gives to `gpu(…, parts=…)`."""
    text = path.read_text(encoding="utf-8")
    names = [*SHARED, *(_parts_in(text) if parts is None else parts)]
    return "\n".join([*((FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in names), text])


def _parts_in(text: str) -> list[str]:
    """The names in a call's `parts=(…)`."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    given = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "parts"]
    return [one.id for value in given if isinstance(value, ast.Tuple) for one in value.elts if isinstance(one, ast.Name)]
