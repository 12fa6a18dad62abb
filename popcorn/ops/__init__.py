"""The library: ops with many implementations. `from popcorn.ops import rms_norm`; each is found by name when it is asked for."""

import sys
from typing import Any

from popcorn.ops.registry import LIBRARY, Op, find_op, list_ops, op

__all__ = ["Op", "op"]


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and (LIBRARY / name / "reference.py").is_file():
        found = find_op(name)
        if "torch" in sys.modules:
            found.load()  # torch.compile cannot trace an import that a first call would make
        return found
    raise AttributeError(f"popcorn.ops has no {name!r}; it has {', '.join(list_ops())}")


def __dir__() -> list[str]:
    return [*list_ops(), *__all__]
