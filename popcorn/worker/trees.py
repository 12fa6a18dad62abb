"""Nested values of tensors: moved, refilled, made plain, compared in their structure. Needs torch."""

from typing import Any

import torch

from popcorn.verify.compare import all_finite
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import Buffer, Full, bare, copy_of, is_sequence, leaves, oddness, pack, tensors_of
from popcorn.worker.namespaces import attributes


def to_device(tree: Any, device: torch.device) -> Any:
    return replace_tensors(tree, [t.to(device) for t in tensors_of(tree)])


def replace_tensors(tree: Any, tensors: list[torch.Tensor]) -> Any:
    """The same tree with its tensors, in order, replaced."""
    remaining = iter(tensors)

    def visit(node: Any) -> Any:
        if isinstance(node, torch.Tensor):
            return next(remaining)
        if isinstance(node, (list, tuple)):
            return _sequence(node, [visit(item) for item in node])
        if isinstance(node, dict):
            return {key: visit(item) for key, item in node.items()}
        return node

    return visit(tree)


def plain_sizes(tree: Any) -> Any:
    """Sizes as plain ints: a Dim knows its range, which is nobody's business outside."""
    if isinstance(tree, (list, tuple)):
        return _sequence(tree, [plain_sizes(item) for item in tree])
    if isinstance(tree, dict):
        return {str(key): plain_sizes(item) for key, item in tree.items()}
    if isinstance(tree, bool) or tree is None or isinstance(tree, torch.Tensor):
        return tree
    return int(tree) if isinstance(tree, int) else tree


def steps(leaf: Any) -> Any:
    """Elements of one byte (float8) as whole multiples of the smallest: between neighbours lie 6 to 25 %, so they are equal or not, as integers
    are. Anything else as it is."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point() or leaf.element_size() > 1:
        return leaf
    wide = leaf.to(torch.float64)
    return torch.where(torch.isfinite(wide), wide * 2.0**17, -(2.0**60)).to(torch.int64)


def unjudgeable(answer: list[tuple[str, Any]]) -> str | None:
    """Why a reference's answer can judge nobody: no element in it, or one that is not finite. None where it can. Raises Failed for sparse tensors,
    for objects, and where there is no tensor at all."""
    tensors = [leaf for _, leaf in answer if isinstance(leaf, torch.Tensor)]
    odd = next((leaf for _, leaf in answer if not (leaf is None or isinstance(leaf, torch.Tensor | bool | int | float | str))), None)
    if odd is not None:
        raise Failed(
            "invalid_reference", f"the reference returns a {type(odd).__name__[:80]}; let it return tensors, in lists, tuples and dicts"
        )
    if not tensors:
        kinds = ", ".join(dict.fromkeys(type(leaf).__name__ for _, leaf in answer)) or "nothing"
        raise Failed("invalid_reference", f"the reference returns {kinds}, which holds no tensor; let it return one or several")
    for path, leaf in answer:
        if isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided:
            told = str(leaf.layout).removeprefix("torch.")
            raise Failed("invalid_reference", f"the reference returns a sparse tensor ({path}: {told}); let it return .to_dense()")
    if not any(t.numel() for t in tensors):
        return "the reference's outputs have no elements, so nothing could be compared; give it sizes above 0"
    if has_nonfinite(answer):
        return "the reference itself gives NaN or infinity, beside which no error can be measured; let it give finite numbers (torch.nan_to_num)"
    return None


def refuse_odd(given: list[Any], whose: str = "get_inputs") -> None:
    """Raises Failed for inputs (or arguments of Model) that another process could not be handed."""
    odd = _odd(given)
    if odd:
        raise Failed(
            "invalid_reference",
            f"{whose} gives a {odd}, which no other process can be handed; expected dense tensors, numbers, text, and lists, tuples and "
            "dicts of them, or a config object of numbers and text",
        )


def _odd(tree: Any) -> str | None:
    """The first thing among inputs that is more than values, by its type: a named tuple, a dataclass, a module."""
    if isinstance(tree, list | dict) or type(tree) is tuple:
        if isinstance(tree, dict) and not all(isinstance(key, str) for key in tree):
            return "dict with keys that are no text"
        return next((odd for item in (tree.values() if isinstance(tree, dict) else tree) if (odd := _odd(item))), None)
    if isinstance(tree, torch.Tensor):
        return oddness(tree)
    plain = tree is None or isinstance(tree, bool | int | float | str | torch.dtype | torch.device) or attributes(tree) is not None
    return None if plain else f"{type(tree).__name__}"[:80]


def has_nonfinite(answer: list[tuple[str, Any]]) -> bool:
    return any(isinstance(t, torch.Tensor) and t.is_floating_point() and not all_finite(t) for _, t in answer)


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


def private_copy(tree: Any) -> Any:
    """Every tensor copied, with its layout."""
    if isinstance(tree, torch.Tensor):
        return copy_of(tree)
    if isinstance(tree, (list, tuple)):
        return _sequence(tree, [private_copy(item) for item in tree])
    if isinstance(tree, dict):
        return {key: private_copy(item) for key, item in tree.items()}
    return tree


def stash(old: Any, result: Any, aliens: list[str]) -> Any:
    """A private copy of a result, into the memory of the last one where it fits."""
    if isinstance(result, (list, tuple)) and not is_sequence(result):
        aliens.append(f"{type(result).__module__}.{type(result).__qualname__}"[:200])
        return None
    if isinstance(result, (list, tuple)):
        olds = old if isinstance(old, (list, tuple)) and len(old) == len(result) else [None] * len(result)
        return _sequence(result, [stash(o, item, aliens) for o, item in zip(olds, result, strict=True)])
    if isinstance(result, dict):
        named = old if isinstance(old, dict) else {}
        return {key: stash(named.get(key), item, aliens) for key, item in result.items()}
    if type(result) is torch.Tensor or type(result) is torch.nn.Parameter:
        fits = type(old) is torch.Tensor and old.shape == result.shape and old.dtype == result.dtype and old.device == result.device
        if fits:
            return old.copy_(bare(result))
        return bare(result).clone()
    if isinstance(result, torch.Tensor):
        aliens.append(f"{type(result).__module__}.{type(result).__qualname__}"[:200])
        return None
    return result


def packed_or_described(tree: Any, outbox: Buffer) -> Any:
    """A result in the outbox, or where it does not fit its shapes alone."""
    try:
        return pack(tree, outbox)
    except Full:
        return describe(tree)


def describe(tree: Any) -> Any:
    """Shapes and dtypes without data: enough to say what is wrong with an output that does not fit."""
    if isinstance(tree, (list, tuple)):
        return {"l" if isinstance(tree, list) else "u": [describe(item) for item in tree]}
    if isinstance(tree, dict):
        return {"d": {str(key): describe(item) for key, item in tree.items()}}
    if isinstance(tree, torch.Tensor):
        return {"large": {"dtype": str(tree.dtype).removeprefix("torch."), "shape": list(tree.shape)}}
    plain = tree is None or isinstance(tree, (bool, int, float, str))
    return {"v": None} if plain else {"other": type(tree).__qualname__[:200]}


def wide(t: torch.Tensor) -> torch.Tensor:
    """A tensor of any kind in float64, complex numbers as pairs."""
    return torch.view_as_real(t).double() if t.is_complex() else t.double()


def another_answer(before: list[torch.Tensor], now: list[torch.Tensor]) -> bool:
    """Whether a second call gave other shapes, or values beyond what rounding could do."""
    return len(before) != len(now) or any(
        a.shape != b.shape or not torch.allclose(wide(a), wide(b), 1e-3, 1e-6, equal_nan=True) for a, b in zip(before, now, strict=True)
    )


def same_values(now: torch.Tensor, before: torch.Tensor) -> bool:
    """Equal in shape, strides and every value; NaN equals NaN."""
    if now.shape != before.shape or now.dtype != before.dtype or now.stride() != before.stride():
        return False
    return bool(((now == before) | ((now != now) & (before != before))).all()) if now.is_floating_point() else torch.equal(now, before)


def overlapping(tree: Any, other: Any) -> list[str]:
    """Paths of tensors in `tree` that share memory with a tensor of `other`."""
    ranges = []
    for tensor in tensors_of(other):
        if oddness(tensor) is not None:
            continue
        storage = bare(tensor).untyped_storage()
        if storage.nbytes() and tensor.numel():
            ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
    found = []
    for path, leaf in leaves(tree, "out"):
        plain = type(leaf) is torch.Tensor or type(leaf) is torch.nn.Parameter  # whatever else a result may be, `exact_type` has it
        if plain and oddness(leaf) is None and leaf.numel() and bare(leaf).untyped_storage().nbytes():
            leaf = bare(leaf)
            start = leaf.untyped_storage().data_ptr()
            if any(start < high and low < start + leaf.untyped_storage().nbytes() for low, high in ranges):
                found.append(path)
    return found


def storage_bytes(answer: list[tuple[str, Any]]) -> int:
    """Bytes of the distinct storages behind the tensors of an answer: an expanded or repeated tensor counts once, at its own size."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for _, t in answer if isinstance(t, torch.Tensor)}
    dense = sum(t.numel() * t.element_size() for _, t in answer if isinstance(t, torch.Tensor))
    return min(dense, sum(storages.values()))


def _sequence(like: Any, items: list[Any]) -> Any:
    """Items as a list or a plain tuple: named tuples (torch.max gives one) cannot be made from a list of items alone."""
    return items if isinstance(like, list) else tuple(items)
