"""Submissions to GPU MODE's leaderboards as candidates: `custom_kernel(data)` becomes a ModelNew. Needs torch; in the candidate's process.

The text itself is left as it is, so that lines and hashes are the author's.
"""

import contextlib
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from popcorn.toolchain.languages import SUBMISSION


class _Told(ModuleType):
    """The modules `task` and `utils` that lie beside a submission: any name is there, as an annotation or a context that does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return contextlib.nullcontext


def prepare_submission(text: str) -> None:
    """Let a submission's `from task import input_t, output_t` work."""
    if re.search(rf"^def {SUBMISSION}\b", text, re.MULTILINE):
        for name in ("task", "utils"):
            if re.search(rf"^\s*(?:from {name} import|import {name}\b)", text, re.MULTILINE):
                sys.modules[name] = _Told(name)


def adapt_submission(module: ModuleType) -> None:
    """Give a module with a submission's function, and without ModelNew, one that calls it."""
    function = getattr(module, SUBMISSION, None)
    if not hasattr(module, "ModelNew") and callable(function):
        module.ModelNew = _calling(function)  # type: ignore[attr-defined]


def _calling(function: Callable[..., Any]) -> type[torch.nn.Module]:
    class ModelNew(torch.nn.Module):
        """`written`: places of `data` that are memory for results; each call finds fresh memory there, as the reference does."""

        def __init__(self, written: Any = ()) -> None:
            super().__init__()
            self.written = tuple(written)

        def forward(self, *inputs: Any) -> Any:
            if self.written and len(inputs) == 1:
                data = inputs[0]
                inputs = (tuple(torch.empty_like(one) if place in self.written else one for place, one in enumerate(data)),)
            return function(*inputs)

    return ModelNew
