"""Two functions of a user, judged and measured as an op's implementation and reference are. Imports without torch; comparing needs it."""

import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from popcorn.bench import measure
from popcorn.bench.asking import Settings
from popcorn.errors import PopcornError
from popcorn.ops import loading
from popcorn.ops.registry import Op
from popcorn.records.store import Store, default_store
from popcorn.schema.case import Case
from popcorn.schema.record import Record

FAST = "mine"

_TEXT = '''"""Two functions of a user as an op, for the processes that judge and measure them."""

from popcorn.bench.comparing import declare
from popcorn.ops.loading import run_for_definitions

declare(
    run_for_definitions({fast_file!r})[{fast!r}],
    run_for_definitions({slow_file!r})[{slow!r}],
    {shapes!r},
    {tensors!r},
    __file__,
)
'''


def compare(
    fast: Callable[..., Any],
    slow: Callable[..., Any],
    inputs: Mapping[str, Any],
    gradient: bool = False,
    settings: Settings | None = None,
    store: Store | None = None,
) -> Record:
    """Judge `fast` against `slow` on these tensors, by the names of their arguments, and measure both in turns; the record is stored, too.

    Both must be functions at the top level of a .py file, which fresh processes run up to its first measurement, and take the arguments
    in the same order. Every trial uses the values given, in the element type of the first floating tensor. Raises PopcornError else.
    """
    import torch

    from popcorn.ops.calling import PRECISIONS

    loading.stop_here()
    names = list(inspect.signature(slow).parameters)
    if set(names) != set(inputs) or list(inspect.signature(fast).parameters) != names:
        raise PopcornError(
            f"compare: both functions must take {', '.join(inputs)}, in the same order; the reference takes {', '.join(names)}"
        )
    if not all(isinstance(inputs[name], torch.Tensor) for name in names):
        raise PopcornError("compare takes tensors only; give other arguments a default in both functions, or declare an op")
    floating = [inputs[name].dtype for name in names if inputs[name].is_floating_point()]
    with tempfile.TemporaryDirectory(prefix="popcorn-compare-") as folder:
        tensors, file = Path(folder) / "inputs.pt", Path(folder) / "compared.py"
        torch.save([inputs[name].detach().cpu() for name in names], tensors)
        shapes = {name: " ".join(str(size) for size in inputs[name].shape) for name in names}
        (fast_file, fast_name), (slow_file, slow_name) = _place(fast), _place(slow)
        file.write_text(
            _TEXT.format(fast_file=fast_file, fast=fast_name, slow_file=slow_file, slow=slow_name, shapes=shapes, tensors=str(tensors))
        )
        op = declare(fast, slow, shapes, str(tensors), str(file))
        case = Case(precision=PRECISIONS[floating[0]] if floating else "float32", gradient="grad" if gradient else "none")  # type: ignore[arg-type]
        return measure(op, FAST, case, settings or Settings(), default_store() if store is None else store)


def declare(fast: Callable[..., Any], slow: Callable[..., Any], shapes: dict[str, str], tensors: str, file: str) -> Op:
    """The op of these two functions, in whatever process this is."""

    def load() -> list[Any]:
        import torch

        return torch.load(tensors, weights_only=True)

    op = Op(slow.__name__, shapes, (), reference=slow, inputs=load, file=file)
    op.implementation(FAST)(fast)
    op.register()
    return op


def _place(function: Callable[..., Any]) -> tuple[str, str]:
    """(file, name) of a function that a fresh process can find again."""
    name = getattr(function, "__qualname__", "")
    file = inspect.getsourcefile(function) if inspect.isfunction(function) else None
    if file is None or not Path(file).is_file() or not name.isidentifier():
        raise PopcornError(
            f"{name or function!r} is not a function at the top level of a .py file, where fresh processes could load it from"
        )
    return str(Path(file).resolve()), name
