"""What a call must read and do, seen in one run of it: weights that reach the result, rows of tables that are looked up, products. Needs torch.

Not seen: work inside operators that torch does not take apart, and what a cleverer way would leave out (a causal product written as a full one).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode


class Reads(TorchDispatchMode):
    """Every operator of a run: the storages that it reads and writes."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[
            int, StorageWeakRef
        ] = {}  # a weak reference keeps a storage's number from being given to another, and not its bytes
        self._steps: list[tuple[list[int], list[int], list[tuple[int, int]]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        looked_up: list[tuple[int, int]] = []
        given = (args, kwargs)
        if func is torch.ops.aten.embedding.default:
            looked_up, given = [(self.name(args[0]), _distinct(args[1]))], (args[1:], kwargs)
        read = [self.name(one) for one in tree_leaves(given) if isinstance(one, torch.Tensor)]
        made = func(*args, **kwargs)
        changed = [one for one, told in zip(args, func._schema.arguments, strict=False) if told.alias_info and told.alias_info.is_write]
        written = [self.name(one) for one in tree_leaves((made, changed)) if isinstance(one, torch.Tensor)]
        self._steps.append((read, written, looked_up))
        return made

    def name(self, tensor: torch.Tensor) -> int:
        """A number of the tensor's storage that no other storage gets during this run."""
        reference = StorageWeakRef(tensor.untyped_storage())
        return self._held.setdefault(reference.cdata, reference).cdata

    def needed(self, results: list[torch.Tensor]) -> tuple[set[int], dict[int, int]]:
        """Storages that reach the results as wholes, and rows looked up in the others."""
        whole, rows = {self.name(one) for one in results}, dict[int, int]()
        for read, written, looked_up in reversed(self._steps):
            if whole.intersection(written):
                whole.update(read)
                for table, count in looked_up:
                    rows[table] = rows.get(table, 0) + count
        return whole, rows


def _distinct(indices: torch.Tensor) -> int:
    """Elements of an index, those that an expansion repeats once."""
    return int(torch.tensor([size for size, step in zip(indices.shape, indices.stride(), strict=True) if step]).prod())


def weight_bytes(model: Any, run: Callable[[], list[torch.Tensor]]) -> int:
    """Bytes of parameters and buffers that a run's results need; of a table that is only looked up, the rows named, all of it at most."""
    held = {id(one): one for one in [*model.parameters(), *model.buffers()]} if isinstance(model, torch.nn.Module) else {}
    with Reads() as reads:
        results = run()
    whole, rows = reads.needed(results)
    total = 0
    for one in held.values():
        size, name = one.numel() * one.element_size(), reads.name(one)
        total += size if name in whole else min(size, rows.get(name, 0) * one.shape[-1] * one.element_size()) if name in rows else 0
    return total


class _Causal(TorchFunctionMode):
    """Counts what the full square of scores does beyond its lower triangle, for attention that says that it is causal."""

    def __init__(self) -> None:
        super().__init__()
        self.beyond = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention and (kwargs.get("is_causal") or (len(args) > 5 and args[5])):
            query, key, value = (
                kwargs.get(name, args[at] if at < len(args) else None) for at, name in enumerate(("query", "key", "value"))
            )
            rows, columns = query.shape[-2], key.shape[-2]
            kept = sum(min(row + 1, columns) for row in range(rows))
            self.beyond += (
                2 * (query.numel() // max(1, rows * query.shape[-1])) * (rows * columns - kept) * (query.shape[-1] + value.shape[-1])
            )
        return func(*args, **kwargs)


@contextmanager
def _taken_apart() -> Iterator[None]:
    """Fused operators as their products: attention by plain ones, recurrent layers without oneDNN."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        yield


def product_flops(run: Callable[[], Any]) -> int:
    """Flops of products and convolutions, by torch's counter; of attention that says it is causal, the lower triangle's. Elementwise work is not seen."""
    with _taken_apart(), FlopCounterMode(display=False) as counter, _Causal() as causal:
        run()
    return int(counter.get_total_flops()) - causal.beyond
