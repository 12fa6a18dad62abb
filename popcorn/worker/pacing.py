"""Is a reference held up by its own loop? Its time beside what is left when every repeated operator is counted once. Needs torch.

A reference that loops in Python over small pieces pays the price of dispatching an operator again and again, and any kernel beats it by that
alone. The same maths vectorised dispatches an operator once where the loop did it n times with the same shapes, and does the same work. So with
N operators, D of them different in name and shapes, c the price of dispatching one here (an addition of two numbers), and T the reference's time:
vectorised, it would take T − (N − D)·c, and no less than D·c. What this cannot see: a loop over large pieces, whose work outweighs its dispatch
(it costs less than the factor here by its nature), and a better algorithm.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

LIMIT = 20.0
"""A reference may be so many times slower than the same maths vectorised."""
_TRIES = 2000


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


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operators = 0
        self.different: set[Any] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators += 1
        shapes = tuple(tuple(one.shape) for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor))
        self.different.add((func, shapes))
        return func(*args, **(kwargs or {}))


def pace_of(run: Callable[[], Any], synchronize: Callable[[], None], device: torch.device) -> Pace:
    """Count the operators of a run and time it (best of three)."""
    with _Count() as count:
        run()
    times = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - started)
        if times[0] > 1.0:
            break
    price, best = _price_s(synchronize, device), min(times)
    different = max(1, len(count.different))
    left = best - (count.operators - different) * price
    return Pace(count.operators, different, best, min(best, max(left, different * price)))


def _price_s(synchronize: Callable[[], None], device: torch.device) -> float:
    """Seconds of dispatching one operator that has nothing to do: the best of five rows."""
    one, rows = torch.ones(1, device=device), []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(_TRIES // 5):
            one + one
        synchronize()
        rows.append((time.perf_counter() - started) / (_TRIES // 5))
    return min(rows)
