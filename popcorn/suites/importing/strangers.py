"""Folders of benchmarks that are known and cannot be imported: what each is, why not, and what to do instead. Reads names and first lines."""

import re
from collections.abc import Callable
from pathlib import Path

from popcorn.errors import PopcornError
from popcorn.suites.importing.found import files_below

_CASES = "write one as reference.py and cases.toml (docs/suites.md)"
_LOOKED_AT = 40
_HEAD_BYTES = 4000


def why_not(folder: Path) -> str | None:
    """A sentence for a folder or file of a benchmark that is known, without its subject; None for any other."""
    root = folder.resolve()
    for suffix, signs in _SIGNS.items():
        try:
            files = files_below(root, suffix)[:_LOOKED_AT] if root.is_dir() else [root] * (root.suffix == suffix)
        except PopcornError:
            continue
        for path in files:
            head = _head(path)
            for is_it, sentence in signs:
                if is_it(path, head):
                    return sentence
    return None


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


Sign = tuple[Callable[[Path, str], bool], str]

_BACKEND_BENCH = f"looks like BackendBench: calls of PyTorch's own operators, whose reference is the operator itself; {_CASES}"
_OF_ROWS: list[Sign] = [
    (lambda path, head: '"op_name"' in head and '"args"' in head, _BACKEND_BENCH),
    (
        lambda path, head: path.name.startswith("TritonBench"),
        f"looks like TritonBench: functions with tests on a few fixed numbers and no sizes to time them at; {_CASES}",
    ),
    (
        lambda path, head: '"parallelism_model"' in head,
        f"looks like ParEval: questions for programs in C++ with drivers of their own, without a reference that could run in float64; {_CASES}",
    ),
]
_SIGNS: dict[str, list[Sign]] = {
    ".jsonl": [
        *_OF_ROWS,
        (
            lambda path, head: '"task_id"' in head and ('"prompt"' in head or '"context_files"' in head),
            f"looks like ComputeEval: programs in C++ with tests of their own, without a reference that could run in float64; {_CASES}",
        ),
    ],
    ".arrow": [
        (
            lambda path, head: True,
            "looks like a data set that `save_to_disk` wrote; write it as Parquet (its to_parquet) and import that file",
        )
    ],
    ".json": [
        *_OF_ROWS,
        (
            lambda path, head: '"custom_code"' in head,
            "looks like CUDA-L1: kernels for KernelBench's problems and no problems; save a custom_code as a file and judge it: popcorn eval original/L1/2 FILE",
        ),
    ],
    ".txt": [
        (
            lambda path, head: re.search(r"^Operator: aten\.", head, re.MULTILINE) is not None,
            _BACKEND_BENCH,
        )
    ],
    ".py": [
        (
            lambda path, head: path.name == "custom_code.py",
            "looks like CUDA-L1: kernels for KernelBench's problems and no problems; judge one: popcorn eval original/L1/2 FILE",
        ),
        (
            lambda path, head: re.search(r"^#{60,}$", head, re.MULTILINE) is not None and "def test_" in head,
            f"looks like TritonBench or KernelBench-X: functions with tests on a few fixed numbers and no sizes to time them at; {_CASES}",
        ),
        (
            lambda path, head: path.name == "prepare_inputs.py" and "def get_inputs(param" in head,
            "looks like NPUKernelBench: a Model in module.py, whose inputs prepare_inputs.py makes from rows of a table; write both into one file, "
            "with a get_input_groups() that gives the inputs of each row",
        ),
        (
            lambda path, head: "torch.distributed" in head and re.search(r"^def solution\(", head, re.MULTILINE) is not None,
            "looks like ParallelKernelBench: functions for several processes; write one as a problem with RANKS (docs/adding.md)",
        ),
        (
            lambda path, head: "BenchmarkOperator" in head and re.search(r"^class Operator\(", head, re.MULTILINE) is not None,
            f"looks like PyTorch's tritonbench: operators that make their inputs within its own harness; {_CASES}",
        ),
        (
            lambda path, head: "BackendBench" in path.parts,
            _BACKEND_BENCH,
        ),
    ],
}
