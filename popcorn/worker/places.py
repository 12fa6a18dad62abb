"""Where results lie in this process's memory, said as briefly as possible: for a batch whose results stay where they are. Needs torch."""

from typing import Any

import torch

from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import is_sequence

_MOST_FORMS = 64


class Places:
    """Results of one batch, kept alive, and their addresses."""

    def __init__(self) -> None:
        self.results: list[Any] = []
        self._forms: dict[Any, int] = {}
        self._rows: list[list[int]] = []
        self._tree: Any = None

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
    if tree is None or type(tree) in (bool, int, str):
        return {"v": tree}
    name = f"{type(tree).__module__}.{type(tree).__qualname__}"[:200]
    return {"alien" if isinstance(tree, torch.Tensor) else "other": name}
