"""The reference as an agent may see it: sizes as ranges, no cost formulas. Text in, text out; still plain, runnable Python."""

import ast
import re

from popcorn.suites.facts import parse
from popcorn.suites.jitter import Dim, Size

_HIDDEN = frozenset({"min_bytes", "flops", "BYTES_WHY", "FLOPS_WHY"})


def write_statement(source: str, name: str, dims: dict[str, Dim], size: Size = "full") -> str:
    """The source without what an agent must not see. Files without Dims come back as they are.

    Each `X = Dim(…)` becomes `X = <smallest size>  # any … from a to b`, a fixed one its own size. The result needs torch alone.
    """
    if not dims:
        return source
    lines: list[str | None] = list(source.splitlines())
    for node in parse(source, name).body:
        names = _names(node)
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            first = node.decorator_list[0].lineno - 1
        replacement: str | None = None
        if len(names) == 1 and names[0] in dims:
            replacement = f"{names[0]} = {_range(dims[names[0]].at(size))}"
        elif not (_HIDDEN & set(names) or _imports_dim(node)):
            continue
        lines[first : last + 1] = [replacement, *[None] * (last - first)]
    return _tidy("\n".join(line for line in lines if line is not None))


def describe_range(dim: Dim) -> str:
    """`6968–9416` or, for a fixed size, the size itself, `16|32` for a choice: for tables."""
    if dim.among and len(dim.among) > 1:
        return f"{dim.low}…{dim.high}" if len(dim.among) > 4 else "|".join(map(str, dim.among))
    return str(int(dim)) if dim.low == dim.high else f"{dim.low}–{dim.high}"


def _range(dim: Dim) -> str:
    if dim.low == dim.high:
        return f"{int(dim)}  # fixed"
    if dim.among:
        return f"{dim.low}  # changes between calls: one of {', '.join(map(str, dim.among))}"
    kind = "any size, odd ones too," if dim.align == 1 else f"any multiple of {dim.align}"
    return f"{dim.low}  # changes between calls: {kind} from {dim.low} to {dim.high}"


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _imports_dim(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "popcorn.suites.jitter"


def _tidy(text: str) -> str:
    return re.sub(r"\n{4,}", "\n\n\n", text).strip() + "\n"
