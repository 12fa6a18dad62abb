"""Nested values of tensors: moved, refilled, made plain, compared in their structure. Needs torch."""

from typing import Any

import torch

from popcorn.worker.mailbox import tensors_of


def to_device(tree: Any, device: torch.device) -> Any:
    return replace_tensors(tree, [t.to(device) for t in tensors_of(tree)])


def replace_tensors(tree: Any, tensors: list[torch.Tensor]) -> Any:
    """The same tree with its tensors, in order, replaced."""
    remaining = iter(tensors)

    def visit(node: Any) -> Any:
        if isinstance(node, torch.Tensor):
            return next(remaining)
        if isinstance(node, (list, tuple)):
            return type(node)(visit(item) for item in node)
        if isinstance(node, dict):
            return {key: visit(item) for key, item in node.items()}
        return node

    return visit(tree)


def plain_sizes(tree: Any) -> Any:
    """Sizes as plain ints: a Dim knows its range, which is nobody's business outside."""
    if isinstance(tree, (list, tuple)):
        return type(tree)(plain_sizes(item) for item in tree)
    if isinstance(tree, dict):
        return {str(key): plain_sizes(item) for key, item in tree.items()}
    if isinstance(tree, bool) or tree is None or isinstance(tree, torch.Tensor):
        return tree
    return int(tree) if isinstance(tree, int) else tree


def has_nonfinite(answer: list[tuple[str, Any]]) -> bool:
    return any(isinstance(t, torch.Tensor) and t.is_floating_point() and not bool(torch.isfinite(t).all()) for _, t in answer)


def shape_of(leaf: Any) -> list[int] | None:
    return list(leaf.shape) if isinstance(leaf, torch.Tensor) else None


def dtype_of(leaf: Any) -> str | None:
    return str(leaf.dtype).removeprefix("torch.") if isinstance(leaf, torch.Tensor) else None


def first_difference(got: list[tuple[str, Any]], expected: list[tuple[str, Any]]) -> tuple[str, str] | None:
    """The first difference in tree, type, shape or dtype as (outcome, sentence)."""
    if [path for path, _ in got] != [path for path, _ in expected]:
        shown = (", ".join(path for path, _ in side[:6]) or "nothing" for side in (got, expected))
        return "wrong_shape", "the outputs are {}; expected {}".format(*shown)
    for (path, mine), (_, theirs) in zip(got, expected, strict=True):
        if isinstance(theirs, torch.Tensor) != isinstance(mine, torch.Tensor):
            return "wrong_dtype", f"{path} is {type(mine).__name__}; expected {type(theirs).__name__}"
        if not isinstance(theirs, torch.Tensor):
            if mine != theirs:
                return "wrong_values", f"{path} is {mine!r}; expected {theirs!r}"[:300]
            continue
        if mine.shape != theirs.shape:
            return "wrong_shape", f"{path} has shape {tuple(mine.shape)}; expected {tuple(theirs.shape)}"
        if mine.dtype != theirs.dtype:
            return "wrong_dtype", f"{path} has dtype {mine.dtype}; expected {theirs.dtype}"
    return None
