"""Submissions to GPU MODE's leaderboards and to LeetGPU as candidates: `custom_kernel(data)` and `solve(…)` become a ModelNew. Needs torch; in the
candidate's process.

The text itself is left as it is, so that lines and hashes are the author's.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from popcorn.toolchain.languages import SUBMISSIONS
from popcorn.worker.failure import Failed


class _Told(ModuleType):
    """The modules `task` and `utils` that lie beside a submission: any name is there, as an annotation or a context that does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return contextlib.nullcontext


def prepare_submission(text: str) -> None:
    """Let a submission's `from task import input_t, output_t` work."""
    if re.search(rf"^def {SUBMISSIONS[0]}\b", text, re.MULTILINE):
        for name in ("task", "utils"):
            if re.search(rf"^\s*(?:from {name} import|import {name}\b)", text, re.MULTILINE):
                sys.modules[name] = _Told(name)


def adapt_submission(module: ModuleType) -> None:
    """Give a module with a submission's function, and without ModelNew, one that calls it."""
    if hasattr(module, "ModelNew"):
        return
    for name, calling in zip(SUBMISSIONS, (_of_data, _of_memory), strict=True):
        function = getattr(module, name, None)
        if callable(function):
            module.ModelNew = calling(function)  # type: ignore[attr-defined]
            return


def model_maker(namespace: Mapping[str, Any]) -> Callable[..., Any]:
    """ModelNew of a candidate's names: whatever makes a model when it is called, and no model itself. Raises Failed."""
    made = namespace.get("ModelNew")
    if not callable(made) or isinstance(made, torch.nn.Module):
        raise Failed("compile_error", "the candidate defines no class ModelNew")
    return made


def _of_data(function: Callable[..., Any]) -> type[torch.nn.Module]:
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


def _of_memory(function: Callable[..., Any]) -> type[torch.nn.Module]:
    class ModelNew(torch.nn.Module):
        """As the reference: zeros where `out` says, copies where `inout` does, and what lies in both is the result."""

        def __init__(self, out: Any = None, inout: Any = ()) -> None:
            super().__init__()
            if not isinstance(out, list):
                raise Failed(
                    "rejected", "it defines `solve` and no ModelNew, which a challenge of LeetGPU alone takes; define class ModelNew"
                )
            self.out, self.inout = out, inout

        def forward(self, *given: Any) -> Any:
            mine = [
                torch.zeros_like(one) if place in self.out else one.clone() if place in self.inout else one
                for place, one in enumerate(given)
            ]
            function(*mine)
            results = tuple(mine[place] for place in sorted([*self.out, *self.inout]))
            return results[0] if len(results) == 1 else results

    return ModelNew
