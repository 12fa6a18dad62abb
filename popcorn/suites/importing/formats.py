"""The formats by name, and which one a folder has."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from popcorn.errors import BadProblem, MissingFile, PopcornError
from popcorn.suites.facts import parse
from popcorn.suites.importing import challenges, custom_task, flashinfer, gpu_mode, kernelbench, plain_cases, robust_kbench
from popcorn.suites.importing.found import Found, files_below, read_python
from popcorn.suites.importing.strangers import why_not


class Format(NamedTuple):
    """One way to lay out problems in a folder."""

    looks_like: Callable[[Path], bool]
    read: Callable[[Path], list[Found]]
    summary: str


FORMATS: dict[str, Format] = {
    "robust_kbench": Format(robust_kbench.looks_like, robust_kbench.read, "func_forward.py, func_backward.py, config_*.json"),
    "custom_task": Format(custom_task.looks_like, custom_task.read, "task.py and a kernel file with [EVOLVE_START] markers"),
    "flashinfer": Format(flashinfer.looks_like, flashinfer.read, "definition and workload JSON (FlashInfer-Bench, SOL-ExecBench)"),
    "gpu_mode": Format(gpu_mode.looks_like, gpu_mode.read, "task.yml and reference.py with ref_kernel (GPU MODE's reference-kernels)"),
    "leetgpu": Format(*challenges.reader_of("leetgpu"), "challenge.py with reference_impl and generate_functional_test (LeetGPU)"),
    "tensara": Format(*challenges.reader_of("tensara"), "def.py with reference_solution and generate_test_cases (Tensara)"),
    "cases": Format(plain_cases.looks_like, plain_cases.read, "reference.py and cases.toml"),
    "kernelbench": Format(
        kernelbench.looks_like, kernelbench.read, "level1/1_Name.py with Model and get_inputs (KernelBench, PopcornBench)"
    ),
}
ALIASES = {"reference-kernels": "gpu_mode", "gpumode": "gpu_mode", "popcornbench": "kernelbench", "robust-kbench": "robust_kbench", "kernelfoundry": "custom_task", "sol-execbench": "flashinfer",
           "sol_execbench": "flashinfer", "flashinfer-bench": "flashinfer", "flashinfer_bench": "flashinfer"}  # fmt: skip


def read_folder(folder: Path, wanted: str = "auto") -> tuple[str, list[Found]]:
    """(name of the format, its problems). Raises MissingFile for no folder, BadProblem where no format fits or nothing is found."""
    if not folder.is_dir():
        raise MissingFile(f"{folder} is not a folder; give the folder of a checkout or of a task")
    name = ALIASES.get(wanted, wanted)
    if name == "auto":
        name = next((one for one, format in FORMATS.items() if format.looks_like(folder)), "")
        if not name:
            reason = why_not(folder)
            if reason:
                raise BadProblem(f"{folder} {reason}")
            if (broken := _unreadable(folder)) is not None:
                raise BadProblem(broken)
            known = "; ".join(f"{one}: {format.summary}" for one, format in FORMATS.items())
            raise BadProblem(f"{folder} looks like none of the known formats ({known})")
    if name not in FORMATS:
        raise BadProblem(f"there is no format {wanted!r}; expected auto, {', '.join([*FORMATS, *ALIASES])}")
    found = FORMATS[name].read(folder)
    meant = name != "kernelbench" or any(not one.refused or kernelbench.has_model(folder.resolve() / one.where) for one in found)
    if wanted == "auto" and not (found and meant) and (reason := why_not(folder)):
        raise BadProblem(f"{folder} {reason}")
    if not found and (broken := _unreadable(folder)) is not None:
        raise BadProblem(broken)
    if not found:
        raise BadProblem(f"{folder} holds no problem in the format {name} ({FORMATS[name].summary}); check the path or the format")
    return name, _apart(found)


def _unreadable(folder: Path) -> str | None:
    """What keeps a folder from being looked at: nothing is in it, or Python files that do not parse or have half of a problem, each with its line. None
    for any other."""
    if next(folder.iterdir(), None) is None:
        return f"{folder} is empty; give the folder of a checkout or of a task"
    told = []
    for path in files_below(folder.resolve(), ".py")[:200]:
        try:
            text = read_python(path)
            if _is_none(text):
                continue
            parse(text, str(path.relative_to(folder.resolve())))
        except PopcornError as error:
            told.append(str(error))
        except (RecursionError, MemoryError):
            told.append(f"{path.name} is nested too deeply to be read")
    more = f"; and {len(told) - 3} more" if len(told) > 3 else ""
    return f"{folder} holds no problem that can be read: {'; '.join(told[:3])}{more}" if told else None


def _is_none(text: str) -> bool:
    """Whether it is Python that does not even mean to be a problem."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return not re.search(r"^(class Model|def get_inputs|def get_init_inputs)", text, re.MULTILINE)


def _apart(found: list[Found]) -> list[Found]:
    """The same, each with a key of its own."""
    taken: set[str] = set()
    apart = []
    for one in found:
        key, count = one.key, 2
        while key.lower() in taken:
            key, count = f"{one.key}_{count}", count + 1
        taken.add(key.lower())
        apart.append(one if key == one.key else replace(one, key=key))
    return apart
