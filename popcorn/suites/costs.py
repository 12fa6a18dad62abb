"""What a shipped problem declares, worked out without torch: bytes, flops, and the list of settings that its sizes stand for."""

import __future__

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from popcorn.errors import BadProblem
from popcorn.suites.facts import parse
from popcorn.suites.jitter import Dim, Size, corners
from popcorn.suites.problems import Problem, facts


def declared_costs(problem: Problem, dims: Mapping[str, int], itemsize: int = 4) -> tuple[float | None, float | None]:
    """(least bytes, flops) at some sizes; None for what the file does not declare. Only for problems that ship: it runs their formulas."""
    if problem.origin != "suite":
        raise BadProblem(f"{problem.id} does not ship with Popcorn; its formulas are run where it is loaded, not here")
    functions = _formulas(problem)
    sizes = {**dims, "itemsize": itemsize}
    made = [_call(functions.get(name), sizes) for name in ("min_bytes", "flops")]
    return made[0], made[1]


def _formulas(problem: Problem) -> dict[str, Callable[..., Any]]:
    """The file's functions and constants, without its imports and classes: nothing of torch is needed to multiply sizes."""
    tree = parse(problem.source, problem.id)
    kept: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign)]
    namespace: dict[str, Any] = {"Dim": Dim}
    flags = __future__.annotations.compiler_flag
    exec(compile(ast.Module(kept, []), problem.path, "exec", flags=flags), namespace)
    return namespace


def _call(function: Callable[..., Any] | None, sizes: Mapping[str, int]) -> float | None:
    if function is None:
        return None
    return float(function(**{name: sizes[name] for name in inspect.signature(function).parameters if name in sizes}))


def settings(problem: Problem, size: Size = "full") -> list[dict[str, Any]]:
    """The settings that a problem stands for, in the manner of a task's input × init × shared list: name, sizes, gradient.

    `timed` is the nominal one; `smallest` and `largest` are the corners of its ranges; `odd` is a step off in every size that moves. Each comes
    forward, and with gradients where the problem is differentiable. Trials draw from the whole range between. A choice among few, as the settings of a
    task, is listed in full. `popcorn problems check` runs every one; the trials of a final judgement (`--held-out`) begin with them.
    """
    told = facts(problem)
    dims = {name: dim.at(size) for name, dim in told.dims.items()}
    listed = {"timed": {name: int(dim) for name, dim in dims.items()}, **corners(dims)}
    ways = ("none", "grad") if told.differentiable else ("none",)
    return [{"name": name, "dims": sizes, "gradient": way} for name, sizes in listed.items() for way in ways]
