"""Files that give their inputs as a list of groups (`get_input_groups`, `get_inputs_dyn_list`), as benchmarks for NPUs do, instead of get_inputs.

A trial draws one of the groups; the last is timed, without a GPU the first, which tends to be small. The texts of JSON files that lie beside the
file, which it opens, are kept with it.
"""

import ast
import re
from pathlib import Path

from popcorn.errors import PopcornError
from popcorn.suites.importing.found import read_text

NAMES = ("get_input_groups", "get_inputs_dyn_list")
MOST = 64
"""Of more groups so many are drawn, evenly spread over all."""

_CONNECTED = """

# --- how Popcorn connects this file: a trial draws one of its groups of inputs

from popcorn.suites.jitter import Dim

GROUP = Dim({most}, among={numbers!r}, cpu=1)
{init}

def get_inputs(GROUP=GROUP):
    groups = list({name}())
    if not groups:
        raise ValueError("{name} lists no group of inputs")
    return groups[(GROUP - 1) * len(groups) // {most}]
"""
_INIT = "\n\ndef get_init_inputs():\n    return []\n\n"


def lists_inputs(text: str) -> str | None:
    """The function by which a text with Model lists its inputs, where it has no get_inputs; None for any other."""
    made = set(re.findall(r"^(?:class|def) +(\w+)", text, re.MULTILINE))
    return next((name for name in NAMES if name in made), None) if "Model" in made and "get_inputs" not in made else None


def connected(text: str, path: Path) -> str:
    """The text with a get_inputs that gives one of its groups; a text that lists none as it is."""
    name = lists_inputs(text)
    if name is None:
        return text
    beside = _beside(text, path)
    init = "" if re.search(r"^def get_init_inputs\b", text, re.MULTILINE) else _INIT
    text = _opening(text, beside) if beside else text
    return text.rstrip() + _CONNECTED.format(most=MOST, numbers=tuple(range(1, MOST + 1)), name=name, init=init)


def _opening(text: str, beside: dict[str, str]) -> str:
    """The text whose `open` gives these files from its first import on, in the same lines: a table may be read where the file is executed."""
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    first = next((node.lineno - 1 for node in imports if getattr(node, "module", "") != "__future__" and not node.col_offset), None)
    lines = text.split("\n")
    if first is not None:
        lines[first] = f"from popcorn.suites.beside import opening; open = opening({beside!r}); {lines[first]}"
    return "\n".join(lines)


def _beside(text: str, path: Path) -> dict[str, str]:
    """Texts of the JSON files beside it that it names, or that are called as it is."""
    try:
        named = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    named = {one for one in named if one.endswith((".json", ".jsonl")) and Path(one).name == one and Path(one).stem}
    if re.search(r"\bopen\(", text):
        named |= {path.with_suffix(suffix).name for suffix in (".json", ".jsonl")}
    found = {}
    for one in sorted(named):
        if path.with_name(one).is_symlink():  # it may lead out of the folder
            continue
        try:
            found[one] = read_text(path.with_name(one))
        except PopcornError:  # what is not there, or is no text, fails where the file opens it, with its line
            continue
    return found
