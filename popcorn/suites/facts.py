"""What a problem file says about itself, read from its syntax tree: nothing of the file is executed, torch is not needed."""

import ast
import builtins
import functools
import re
import symtable
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

from popcorn.errors import BadProblem
from popcorn.suites.jitter import Dim

Dialect = Literal["popcorn", "popcornbench", "kernelbench"]

INJECTED = "popcorn_pri"
"""Name that PopcornBench puts into a problem's globals without an import."""

_CONSTANTS = ("DOMAIN", "DIFFERENTIABLE", "TOLERANCE", "TOLERANCE_WHY", "NONCONTIGUOUS", "NOTES", "BYTES_WHY", "FLOPS_WHY", "RANKS")
_MODULE_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "__package__", "__spec__", "__loader__"}


@dataclass(frozen=True)
class Facts:
    """The constants of a problem file. Empty for files of other benchmarks, which declare nothing."""

    dialect: Dialect
    """`popcorn` (our contract), `popcornbench` (uses its injected name) or `kernelbench` (neither)."""
    dims: dict[str, Dim] = field(default_factory=dict)
    """Sizes in the order of the file."""
    domain: str | None = None
    """What field the operator comes from."""
    differentiable: bool | None = None
    """Whether gradients are judged too; None when the file does not say."""
    tolerance: dict[str, float] = field(default_factory=dict)
    """Floors per precision, relative to the truth's rms, in place of the usual ones."""
    tolerance_why: str | None = None
    """Why they are not the usual ones."""
    noncontiguous: bool = False
    """Whether candidates must accept inputs that are not contiguous."""
    notes: str | None = None
    """Remarks for whoever writes a kernel."""
    bytes_why: str | None = None
    """Why `min_bytes` is not the bytes of inputs, weights and outputs."""
    flops_why: str | None = None
    """Why `flops` is not what a flop counter sees."""
    ranks: int | None = None
    """Fewest processes that it runs on, for a problem of communication; None for all others, which run in one."""
    summary: str | None = None
    """First sentence of the file's docstring."""


@functools.lru_cache(maxsize=4096)
def read_facts(source: str, name: str) -> Facts:
    """Facts of a problem's text. Raises BadProblem where the text is not Python, lacks a part of the contract or contradicts it."""
    tree = parse(source, name)
    dims = _dims(tree, name)
    # a file of another benchmark may use these names for something else
    constants = {key: _literal(node, name) for key, node in _assignments(tree).items() if dims and key in _CONSTANTS}
    dialect: Dialect = "popcorn" if dims else "popcornbench" if _uses_injected(tree) else "kernelbench"
    if dialect == "popcorn":
        _refuse_sizes_read_as_globals(source, dims, name)
    tolerance = constants.get("TOLERANCE") or {}
    if tolerance and not constants.get("TOLERANCE_WHY"):
        raise BadProblem(f"{name} sets TOLERANCE without TOLERANCE_WHY; say in a sentence why the usual floors do not serve")
    return Facts(
        dialect=dialect,
        dims=dims,
        domain=constants.get("DOMAIN"),
        differentiable=constants.get("DIFFERENTIABLE"),
        tolerance={str(precision): float(floor) for precision, floor in tolerance.items()},
        tolerance_why=constants.get("TOLERANCE_WHY"),
        noncontiguous=bool(constants.get("NONCONTIGUOUS", False)),
        notes=constants.get("NOTES"),
        bytes_why=constants.get("BYTES_WHY"),
        flops_why=constants.get("FLOPS_WHY"),
        ranks=constants.get("RANKS"),
        summary=_summary(tree),
    )


def parse(source: str, name: str) -> ast.Module:
    """The syntax tree of a problem that has Model and get_inputs; BadProblem otherwise."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nested beyond what the parser bears
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        raise BadProblem(f"{name} is not valid {python}{where}: {getattr(error, 'msg', error)}; expected a problem file") from error
    defined = _defined(tree)
    if "ModelNew" in defined and "Model" not in defined:
        raise BadProblem(
            f"{name} defines ModelNew, so it is a candidate and no problem; the problem comes first: popcorn eval PROBLEM FILE"
        )
    for part in ("Model", "get_inputs"):
        if part not in defined:
            raise BadProblem(f"{name} defines no `{part}`; expected a class Model and functions get_inputs and get_init_inputs")
    return tree


def with_model(source: str) -> str:
    """A text with get_inputs whose module has another name, `Net` or `ReferenceModel`, with that as Model: the only one that none of its classes uses.
    Any other text as it is."""
    if not re.search(r"^def get_input", source, re.MULTILINE) or re.search(r"\bModel(New)?\b *[(:=]", source):
        return source
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    modules = {one.name for one in classes if any(ast.unparse(base).rpartition(".")[2] == "Module" for base in one.bases)}
    used = {node.id for one in classes for node in ast.walk(one) if isinstance(node, ast.Name) and node.id != one.name}
    outer = [name for name in modules if name not in used]
    return naming_model(source, outer[0]) if len(outer) == 1 else source


def naming_model(source: str, name: str) -> str:
    """A text with one of its classes as Model; its own lines stay where they are."""
    return f"{source.rstrip()}\n\n\nModel = {name}\n"


def undefined_names(source: str, name: str, given: frozenset[str] = frozenset()) -> list[tuple[str, int]]:
    """Global names that the file reads and never defines, each with the first line that reads it, in order of lines.

    Empty where the file has a star import, since anything may be defined then.
    """
    tree = ast.parse(source)
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return []
    table = symtable.symtable(source, name, "exec")
    defined = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    defined |= _assigned_as_global(table)
    missing = {read for read in _globals_read(table) if read not in defined | _MODULE_NAMES | given}
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing and isinstance(node.ctx, ast.Load):
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    return sorted(lines.items(), key=lambda item: item[1])


def _globals_read(table: symtable.SymbolTable) -> set[str]:
    top = table.get_type() == "module"
    read = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and (top or symbol.is_global())}
    return read.union(*(_globals_read(child) for child in table.get_children()), set())


def _assigned_as_global(table: symtable.SymbolTable) -> set[str]:
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_declared_global() and symbol.is_assigned()}
    return names.union(*(_assigned_as_global(child) for child in table.get_children()), set())


def _refuse_sizes_read_as_globals(source: str, dims: dict[str, Dim], name: str) -> None:
    """A function that reads a Dim from the module would not see the size drawn for a trial."""
    for child in symtable.symtable(source, name, "exec").get_children():
        for size in sorted(_globals_read(child) & set(dims)):
            raise BadProblem(
                f"{name}: `{child.get_name()}` (line {child.get_lineno()}) reads the size `{size}` from the module; "
                f"expected it as a parameter `{size}={size}`, so that a trial can draw another size"
            )


def _dims(tree: ast.Module, name: str) -> dict[str, Dim]:
    dims = {}
    for key, node in _assignments(tree).items():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Dim"):
            continue
        arguments = [_literal(argument, name) for argument in node.args]
        try:
            dims[key] = Dim(*arguments, **{word.arg: _literal(word.value, name) for word in node.keywords if word.arg})
        except (TypeError, BadProblem) as error:
            raise BadProblem(f"{name}: the size `{key}` (line {node.lineno}) is not possible: {error}") from error
    return dims


def _assignments(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found.update({target.id: node.value for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
    return found


def _defined(tree: ast.Module) -> set[str]:
    names = set(_assignments(tree))
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def _uses_injected(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Name) and node.id == INJECTED for node in ast.walk(tree))


def _literal(node: ast.expr, name: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise BadProblem(
            f"{name}, line {node.lineno}: expected a literal, found `{ast.unparse(node)[:80]}`; write the value out"
        ) from error


def _summary(tree: ast.Module) -> str | None:
    text = ast.get_docstring(tree)
    return text.split("\n\n")[0].replace("\n", " ").strip() if text else None
