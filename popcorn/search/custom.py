"""A task of the user's own, as a folder: a reference, a kernel whose marked block may change, instructions.

task.toml      language, and what else a task may say (below); an unknown key is refused
problem.py     the reference, as any problem file (docs/adding.md)
kernel.*       the kernel to begin with; its block between [EVOLVE_START] and [EVOLVE_END], in comments, is all that may change
instructions.md  optional: what the model is told beside the reference; or between [USER_INSTRUCTIONS_START] and …_END in problem.py
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from popcorn.errors import BadSearch
from popcorn.reading import read_kernel, read_toml, what_is_wrong
from popcorn.schema.case import Frozen
from popcorn.search.edits import split
from popcorn.suites.problems import Problem, find_problem
from popcorn.toolchain.languages import detect_language

_INSTRUCTIONS = re.compile(r"\[USER_INSTRUCTIONS_START\][^\n]*\n(.*?)^[^\n]*\[USER_INSTRUCTIONS_END\]", re.MULTILINE | re.DOTALL)


class TaskFile(Frozen):
    """task.toml."""

    language: str | None = None
    """Else by the kernel's file."""
    problem: str = "problem.py"
    """File of the reference, or a problem id."""
    kernel: str | None = None
    """File of the kernel; else the only `kernel.*`."""
    marks: bool = True
    """Whether the kernel must mark the block that may change."""


@dataclass(frozen=True)
class Task:
    """A task, read."""

    problem: Problem
    seed: str
    language: str
    instructions: str


def load_task(folder: Path) -> Task:
    """Read it. Raises BadSearch naming what is missing or not understood."""
    path = folder / "task.toml"
    try:
        file = TaskFile.model_validate(
            read_toml(path, lambda why: BadSearch(f"{path} cannot be read: {why}; see docs/search.md for what a task is."))
            if path.exists()
            else {}
        )
    except ValidationError as error:
        raise BadSearch(f"{path}: {what_is_wrong(error, TaskFile)}.") from None
    kernel = _kernel(folder, file)
    source = read_kernel(kernel)
    if file.marks and split(source) is None:
        raise BadSearch(f"{kernel} has no block between [EVOLVE_START] and [EVOLVE_END]; mark what may change, or say `marks = false`.")
    inside = folder / file.problem
    problem = find_problem(str(inside) if inside.is_file() else file.problem)
    said = folder / "instructions.md"
    found = _INSTRUCTIONS.search(problem.source)
    instructions = read_kernel(said) if said.is_file() else "\n".join(line.lstrip("# ") for line in found[1].splitlines()) if found else ""
    return Task(problem, source, detect_language(kernel.name, source, file.language), instructions.strip())


def _kernel(folder: Path, file: TaskFile) -> Path:
    found = [folder / file.kernel] if file.kernel else sorted(folder.glob("kernel.*"))
    if len(found) != 1 or not found[0].is_file():
        raise BadSearch(
            f"{folder} needs one kernel.c, .cpp, .cu or .py to begin with; found {', '.join(one.name for one in found) or 'none'}."
        )
    return found[0]
