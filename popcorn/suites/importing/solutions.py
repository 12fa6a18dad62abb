"""Solutions of FlashInfer-Bench and SOL-ExecBench as candidates: one Python file gets a ModelNew that calls its entry point, the rest stays as it was."""

import json
from typing import Any

from popcorn.suites.importing.found import snake
from popcorn.suites.importing.workloads import Spec

_HEAD = """{text}


import torch


class ModelNew(torch.nn.Module):
    def forward(self, *inputs):
{body}
        if isinstance(made, dict):
            made = tuple(made[name] for name in {results!r}) if set(made) == set({results!r}) else made
        return made[0] if isinstance(made, tuple) and len(made) == 1 else made
"""
_FILLED = """        sizes = dict({constants!r})
        for given, axes in zip(inputs, {shapes!r}, strict=True):
            sizes.update(zip(axes or (), getattr(given, "shape", ()), strict=False))
        device = next(one.device for one in inputs if isinstance(one, torch.Tensor))
        kind = next(one.dtype for one in inputs if isinstance(one, torch.Tensor) and one.is_floating_point())
        made = tuple(
            torch.empty([sizes.get(axis, axis) for axis in shape], dtype=kind if floats else getattr(torch, dtype), device=device)
            for shape, dtype, floats in {outputs!r}
        )
        {entry}(*inputs, *made)"""
_FLOATS = ("float64", "float32", "float16", "bfloat16")


def candidates(solutions: list[dict[str, Any]], spec: Spec) -> dict[str, str]:
    """Texts by file name: `.py` is a candidate that `popcorn eval` takes, `.json` a solution in other languages or of several files."""
    made = {}
    for one in solutions:
        text = _candidate(one, spec)
        made[f"{snake(one['name'])}.{'json' if text is None else 'py'}"] = json.dumps(one, indent=1) if text is None else text
    return made


def _candidate(solution: dict[str, Any], spec: Spec) -> str | None:
    sources = solution["sources"]
    if len(sources) != 1 or not isinstance(sources[0], dict) or not str(sources[0].get("path", "")).endswith(".py"):
        return None
    told: Any = solution.get("spec")
    told = told if isinstance(told, dict) else {}
    entry = str(told.get("entry_point", "main.py::run")).rpartition("::")[2]
    entry = entry if entry.isidentifier() else "run"
    body = f"        made = {entry}(*inputs)"
    if told.get("destination_passing_style") is True:  # results are handed over, to be filled
        known = {axis for one in spec.inputs.values() for axis in one.shape or ()} | set(spec.constants)
        shapes = [one.shape for one in spec.outputs.values()]
        if any(shape is None or any(isinstance(axis, str) and axis not in known for axis in shape) for shape in shapes):
            return None
        body = _FILLED.format(
            constants=spec.constants,
            shapes=[one.shape for one in spec.inputs.values()],
            outputs=[(one.shape, one.dtype, one.dtype in _FLOATS) for one in spec.outputs.values()],
            entry=entry,
        )
    return _HEAD.format(text=str(sources[0].get("content", "")).rstrip(), body=body, results=tuple(spec.outputs))
