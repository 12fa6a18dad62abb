"""Behaviour of Python modules: Triton kernels by their tree, native texts in strings by theirs, plain torch by its calls."""

import ast
from collections.abc import Iterator

from popcorn.search import native_behaviour
from popcorn.search.program import Cell
from popcorn.verify.static.python import texts_in


def describe(source: str) -> Cell:
    """(memory, compute, parallelism). A text that does not parse is (0, 0, 0)."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (0, 0, 0)
    jitted = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and any("jit" in _name(d) for d in node.decorator_list)]
    if jitted:
        cells = [_triton(node) for node in jitted]
        return (max(c[0] for c in cells), max(c[1] for c in cells), max(c[2] for c in cells))
    native = [native_behaviour.describe(text, gpu="__global__" in text) for _, text in texts_in(source) if "(" in text]
    if native:
        return (max(c[0] for c in native), max(c[1] for c in native), max(c[2] for c in native))
    return _torch(tree)


def _triton(kernel: ast.FunctionDef) -> Cell:
    calls = [_name(node.func) for node in ast.walk(kernel) if isinstance(node, ast.Call)]
    last = [name.rpartition(".")[2] for name in calls]
    keywords = {k.arg for node in ast.walk(kernel) if isinstance(node, ast.Call) for k in node.keywords}
    loops = [node for node in ast.walk(kernel) if isinstance(node, ast.For | ast.While)]
    loads_in_loop = any(_name(node.func).endswith(("load", "load_tensor_descriptor")) for loop in loops for node in _calls(loop))
    memory = 3 if {"make_block_ptr", "make_tensor_descriptor", "async_copy"} & set(last) or {"eviction_policy", "cache_modifier"} & keywords else (
        2 if loads_in_loop else 1 if "arange" in last else 0
    )  # fmt: skip
    reductions = sum(name in ("sum", "max", "min", "reduce", "argmax") for name in last)
    compute = (
        3
        if {"dot", "dot_scaled"} & set(last)
        else 2
        if "associative_scan" in last or (reductions and loops)
        else 1
        if reductions <= 2
        else 0
    )
    axes = sum(name == "program_id" for name in last)
    parallel = (
        3
        if any(name.startswith("atomic") or name == "num_programs" for name in last)
        else 2
        if axes >= 2
        else 1
        if reductions or "dot" in last
        else 0
    )
    return memory, compute, parallel


def _torch(tree: ast.Module) -> Cell:
    names = [_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    last = [name.rpartition(".")[2] for name in names]
    in_place = any(name.endswith("_") and not name.endswith("__") for name in last) or any(
        k.arg == "out" for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords
    )
    compiled = any(name in ("compile", "torch.compile") or name.endswith("torch.compile") for name in names)
    fused = any(name.startswith("addmm") or ".functional." in full or full.startswith("F.") for name, full in zip(last, names, strict=True))
    return int(in_place), 3 if compiled else int(fused), 0


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Call):
        if isinstance(node, ast.Call):
            node = node.func
            continue
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])
