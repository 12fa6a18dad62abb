"""Modules that lie beside a foreign file: `from utils import …` finds the text that its folder holds. Free of torch."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Beside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules among texts, before any that is installed under the same name."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if path is None and fullname in self._texts else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._texts[module.__name__], f"{module.__name__}.py", "exec"), module.__dict__)


def lie_beside(texts: Mapping[str, str]) -> None:
    """From now on `import NAME` runs the text of that name, for as long as this process lives: one that serves a single problem."""
    for name in texts:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Beside(texts))
