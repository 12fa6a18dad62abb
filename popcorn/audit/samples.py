"""Samples of the audit, read from the heads of their files without running them. Free of torch.

A head is a set of constants at the top of a Python file, or of `NAME = literal` lines in the first comment of a C file:
PROBLEM    file name under `problems/`, or a problem id
OUTCOMES   outcomes that are as they should be; a cheat may be an honest failure
CAUGHT_BY  the defence that must find it, where one must
NO_GAIN    the trick works and is worth nothing: `correct` will do where it is not faster than the reference
TIMED      True where the trick needs timed calls
GPU        True where it needs a GPU
CPU        True where it says nothing on a GPU: it makes its tensors in the host's memory, or patches the CPU's timer; a C or C++ file does
ALONE      True where it would disturb others that run at the same time
"""

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent
KNOWN = {"PROBLEM", "OUTCOMES", "CAUGHT_BY", "NO_GAIN", "TIMED", "GPU", "CPU", "BACKWARD", "CATALOGUE", "ALONE"}


@dataclass(frozen=True)
class Sample:
    """One candidate of the audit and what must become of it."""

    name: str
    kind: Literal["evil", "honest"]
    path: Path
    about: str
    problem: str
    outcomes: frozenset[str]
    caught_by: str | None
    no_gain: bool
    timed: bool
    gpu: bool
    cpu: bool
    backward: bool
    alone: bool
    catalogue: tuple[int, ...]
    """Numbers in the catalogue of tricks, docs/fairness.md."""

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def problem_path(self) -> str:
        """As `find_problem` takes it."""
        own = FOLDER / "problems" / f"{self.problem}.py"
        return str(own) if own.exists() else self.problem


def read_samples(kind: Literal["evil", "honest"], gpu: bool | None = None) -> list[Sample]:
    """All samples of a kind by name; `gpu` keeps those that need one, or those that do not."""
    found = [read_sample(path, kind) for path in sorted((FOLDER / kind).iterdir()) if path.suffix in (".py", ".c", ".cpp", ".cu")]
    return [one for one in found if gpu in (None, one.gpu)]


def limited(samples: list[Sample], most: int) -> list[Sample]:
    """At most so many, the same ones every time: first those that need a GPU, then a mixture of the rest. In the order they came in."""
    first = sorted(samples, key=lambda one: (not one.gpu, hashlib.sha256(one.name.encode()).hexdigest()))[:most]
    return [one for one in samples if one in first]


def read_sample(path: Path, kind: Literal["evil", "honest"]) -> Sample:
    """One sample. Raises ValueError where its head is not complete."""
    text = path.read_text(encoding="utf-8")
    about, head = _python_head(text) if path.suffix == ".py" else _c_head(text)
    if unknown := set(head) - KNOWN:
        raise ValueError(f"{path.name}: unknown {', '.join(sorted(unknown))}")
    if "PROBLEM" not in head or not about or (kind == "evil" and not (head.get("OUTCOMES") or head.get("CAUGHT_BY"))):
        raise ValueError(f"{path.name} needs a sentence about itself, PROBLEM, and for a cheat OUTCOMES or CAUGHT_BY")
    outcomes = set(head.get("OUTCOMES", {"cheated"})) if kind == "evil" else {"correct"}
    return Sample(
        name=path.stem, kind=kind, path=path, about=about, problem=head["PROBLEM"], outcomes=frozenset(outcomes),
        caught_by=head.get("CAUGHT_BY"), no_gain=head.get("NO_GAIN", False), timed=head.get("TIMED", False), gpu=head.get("GPU", False),
        cpu=head.get("CPU", path.suffix in (".c", ".cpp")),
        backward=head.get("BACKWARD", False), alone=head.get("ALONE", False), catalogue=tuple(head.get("CATALOGUE", ())),
    )  # fmt: skip


def _python_head(text: str) -> tuple[str, dict[str, Any]]:
    tree = ast.parse(text.encode())
    head = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in KNOWN:
            head[node.targets[0].id] = ast.literal_eval(node.value)
    return (ast.get_docstring(tree) or "").strip(), head


def _c_head(text: str) -> tuple[str, dict[str, Any]]:
    match = re.match(r"\s*/\*(.*?)\*/", text, re.DOTALL)
    about, head = [], {}
    for line in (match[1] if match else "").splitlines():
        line = line.strip(" *")
        name, _, value = line.partition(" = ")
        if name in KNOWN:
            head[name] = ast.literal_eval(value)
        elif line:
            about.append(line)
    return " ".join(about), head
