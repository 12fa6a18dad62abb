"""Is a reference held up by its own loop? Its time beside what its operators would take with every repeat in one. Needs torch.

A reference that loops in Python over small pieces pays the price of an operator again and again, and any kernel beats it by that alone. The same
maths vectorised does the n repeats of an operator (same name, same shapes) in one: the price once, and n times the work. The work of a call is
what it takes beyond an operator that has nothing to do, timed in the same way, and no less than moving its tensors at the speed of a copy here.
What this cannot see: Python's own time between operators, pieces of ever different shapes, and a better algorithm.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

LIMIT = 20.0
"""A reference may be so many times slower than the same maths vectorised."""
NOTHING = 3.0
"""A call that takes less than this many times the price of nothing has done nothing but move its tensors."""
_COPIED = 1 << 22


@dataclass(frozen=True)
class Pace:
    """A reference's operators and what repeating them costs."""

    operators: int
    different: int
    reference_s: float
    vectorised_s: float

    @property
    def slowdown(self) -> float:
        """How many times slower than the same maths vectorised, by the count."""
        return self.reference_s / self.vectorised_s


class _Times(TorchDispatchMode):
    """Seconds of every call and bytes of its tensors, by operator and shapes."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        super().__init__()
        self.synchronize = synchronize
        self.calls: dict[Any, list[float]] = {}
        self.bytes: dict[Any, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.perf_counter()
        made = func(*args, **(kwargs or {}))
        self.synchronize()
        took = time.perf_counter() - started
        tensors = [one for one in tree_leaves((args, kwargs, made)) if isinstance(one, torch.Tensor)]
        key = (func, tuple(tuple(one.shape) for one in tensors))
        self.calls.setdefault(key, []).append(took)
        views = all(told.alias_info is None for told in func._schema.returns)  # what only looks at a tensor moves nothing
        self.bytes[key] = sum(one.numel() * one.element_size() for one in tensors) if views else 0
        return made


def pace_of(run: Callable[[], Any], synchronize: Callable[[], None], device: torch.device) -> Pace:
    """Time a run (best of three, one where it takes a second) and each of its operators."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - started)
        if times[0] > 1.0:
            break
    with _Times(synchronize) as seen:
        run()
    price_s, copy_s = _prices(synchronize, device)
    vectorised = 0.0
    for key, calls in seen.calls.items():
        # others' noise only adds: on one machine the median of 3,000 such calls was three times their least
        usual = sorted(calls)[len(calls) // 10]
        work = usual - price_s if usual > NOTHING * price_s else 0.0
        vectorised += price_s + len(calls) * max(work, seen.bytes[key] * copy_s)
    # both sums are of one run, so that a busy moment is in both
    best, whole = min(times), sum(sum(calls) for calls in seen.calls.values())
    share = min(1.0, max(vectorised, price_s) / max(whole, price_s))
    return Pace(sum(map(len, seen.calls.values())), len(seen.calls), best, best * share)


def _prices(synchronize: Callable[[], None], device: torch.device) -> tuple[float, float]:
    """(seconds of an operator that has nothing to do, seconds of moving a byte) here."""
    one, large = torch.ones(1, device=device), torch.ones(_COPIED // 4, device=device)
    with _Times(synchronize) as seen:
        for _ in range(200):
            one + one
        for _ in range(5):
            large.clone()
    nothing, copies = seen.calls.values()
    return statistics.median(nothing), min(copies) / (2 * _COPIED)
