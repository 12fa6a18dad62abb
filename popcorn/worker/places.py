"""Where results lie in this process's memory, said as briefly as possible: for a batch whose results stay where they are. Needs torch."""

from collections.abc import Callable
from typing import Any

import torch

from popcorn.worker.choosing import places_of, read_here, way, ways_of
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import MOST_BITS, is_sequence

_MOST_FORMS = 4096
"""So many calls are in a batch at most: sizes that depend on values (nonzero) differ from call to call."""


class Places:
    """Results of one batch, kept alive, and their addresses."""

    def __init__(self) -> None:
        self.results: list[Any] = []
        self._forms: dict[Any, int] = {}
        self._rows: list[list[int]] = []
        self._tree: Any = None

    def fill(self, slots: list[Any], answer: Callable[[Any], Any], choice: dict[str, Any] | None) -> None:
        """The results of all slots; with a `choice`, of one in every few, which the result before has chosen."""
        if choice is None:
            for slot in slots:
                self.add(answer(slot))
            return
        offsets: dict[int, Any] = {}
        chosen, ways = 0, ways_of(choice)
        for first in range(0, len(slots) - ways + 1, ways):
            self.add(answer(slots[first + chosen]))
            form, address = (*self._rows[-1][2 * choice["tensor"] :], -1, 0)[:2]
            if form not in offsets:
                dtype, shape, stride = self.told()["forms"][form] if form >= 0 else ("", [], [])
                offsets[form] = places_of(choice, dtype, shape, stride)
            there = offsets[form]
            chosen = way(read_here(choice, address, there), choice["unit"]) if there else 0

    def add(self, result: Any) -> None:
        """One more result. Raises Failed where it has another form than the first."""
        self.results.append(result)
        row: list[int] = []
        tree = {"t": 0} if type(result) is torch.Tensor else None
        if tree is None:
            tensors: list[torch.Tensor] = []
            tree = _skeleton(result, tensors, 0)
        else:
            tensors = [result]
        if self._tree is None:
            self._tree = tree
        elif tree != self._tree:
            raise Failed("wrong_shape", "results of inputs of the same sizes have different forms")
        for tensor in tensors:
            if tensor.is_neg() or tensor.is_conj():
                tensor = tensor.resolve_conj().resolve_neg()
                self.results.append(tensor)
            form = (tensor.dtype, tensor.shape, tensor.stride())
            row += [self._forms.setdefault(form, len(self._forms)), tensor.data_ptr()]
        self._rows.append(row)

    def told(self) -> dict[str, Any]:
        """For the parent: the tree with numbers for tensors, (dtype, shape, strides) of each form, (form, address) of each tensor of each call."""
        if len(self._forms) > _MOST_FORMS:
            raise Failed("wrong_shape", "results of inputs of the same sizes have different forms")
        forms = [[str(dtype).removeprefix("torch."), list(shape), list(stride)] for dtype, shape, stride in self._forms]
        return {"tree": self._tree, "forms": forms, "places": self._rows}


def _skeleton(tree: Any, tensors: list[torch.Tensor], depth: int) -> Any:
    if type(tree) is torch.Tensor or type(tree) is torch.nn.Parameter:
        tensors.append(tree)
        return {"t": len(tensors) - 1}
    if depth < 32 and is_sequence(tree):
        return {"l" if type(tree) is list else "u": [_skeleton(item, tensors, depth + 1) for item in tree]}
    if depth < 32 and type(tree) is dict and all(type(key) is str for key in tree):
        return {"d": {key: _skeleton(item, tensors, depth + 1) for key, item in tree.items()}}
    if tree is None or type(tree) in (bool, str) or (type(tree) is int and tree.bit_length() <= MOST_BITS):
        return {"v": tree}
    name = f"{type(tree).__module__}.{type(tree).__qualname__}"[:200]
    return {"alien" if isinstance(tree, torch.Tensor) else "other": name}
