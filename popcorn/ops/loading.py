"""A user's file run for its definitions, in processes that need an op or a function of it. Imports without torch.

The file runs as if imported, up to the point where it would measure something: whatever stands before is defined then. So a script of
ten lines needs no `if __name__ == "__main__"`.
"""

import functools
import sys
import types
from pathlib import Path
from typing import Any


class LoadedOnly(BaseException):
    """What a measurement raises while a file is run for its definitions."""


_depth = 0


def stop_here() -> None:
    """Called by everything that measures."""
    if _depth:
        raise LoadedOnly


@functools.cache
def run_for_definitions(file: str) -> dict[str, Any]:
    """The names that a file defines before it measures. What it raises passes through."""
    global _depth
    module = types.ModuleType(f"popcorn_user_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses and pickles look modules up by name
    sys.path.insert(0, str(Path(file).parent))
    _depth += 1
    try:
        exec(compile(Path(file).read_text(encoding="utf-8"), file, "exec"), module.__dict__)
    except LoadedOnly:
        pass
    finally:
        _depth -= 1
    return module.__dict__
