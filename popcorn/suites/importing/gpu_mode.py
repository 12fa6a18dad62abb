"""Tasks of GPU MODE's leaderboards (reference-kernels): `task.yml`, and `reference.py` with `ref_kernel(data)` and `generate_input(…, seed)`.

Every test and benchmark of the task is a setting that a trial draws, with a fresh seed; the largest benchmark is timed, on a machine
without GPU the largest test. `check_implementation` is not run: the truth in float64 judges.
"""

import ast
import math
import os
import re
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.importing.found import Found, files_below, read_python, read_text, snake
from popcorn.suites.importing.settings import MAX_SETTINGS

_NAMES = ("task.yml", "task.yaml")
_OF_THEM = ("submission.py", "reference.py", "eval.py")
_FILLS = ("copy_", "fill_", "zero_")
"""Methods that write all of a tensor and read none of it."""


def looks_like(folder: Path) -> bool:
    """Whether some folder holds a task.yml beside a reference.py."""
    return bool(_tasks(folder))


def read(folder: Path) -> list[Found]:
    """One problem for each task.yml."""
    paths = _tasks(folder)
    common = Path(os.path.commonpath([path.parent.parent for path in paths])) if paths else folder
    return [_found(path, folder.resolve(), common) for path in paths]


def _tasks(folder: Path) -> list[Path]:
    root = folder.resolve()
    found = [path for suffix in (".yml", ".yaml") for path in files_below(root, suffix) if path.name in _NAMES]
    return [path for path in found if path.with_name("reference.py").is_file()]


def _found(path: Path, root: Path, common: Path) -> Found:
    inner = [snake(part) for part in path.parent.relative_to(common).parts]
    key = "/".join(inner).removesuffix("_py")
    about: dict[str, Any] = {"key": key, "name": inner[-1].removesuffix("_py"), "where": str(path.relative_to(root))}
    try:
        told = _yaml(path)
        reference = read_python(path.with_name("reference.py"))
        tree = _parsed(reference)
        _refuse(told, tree)
        tests, benchmarks = _cases(told, "tests"), _cases(told, "benchmarks")
        cases = [*sorted(tests, key=_volume), *sorted(benchmarks, key=_volume)]
        if not cases:
            raise BadProblem("task.yml lists neither tests nor benchmarks; expected one line of sizes a case")
        remarks = [
            f"{len(cases)} case{'s' if len(cases) > 1 else ''}, one a trial, with a fresh seed; a submission's custom_kernel is judged as it is"
        ]
        if len(cases) > MAX_SETTINGS:
            remarks.append(f"{len(cases) - MAX_SETTINGS} of them are left out")
            cases = cases[-MAX_SETTINGS:]
        written = _written(tree)
        if written:
            remarks.append("where ref_kernel writes into its arguments, each call finds fresh memory")
        if not _compares(tree):
            remarks.append("its check_implementation, which may take other answers than ref_kernel's, is not run")
        if "cuda" in reference:
            remarks.append("without a GPU its `cuda` means the CPU")
        beside = _beside(told, path, root)
        return Found(**about, source=_connected(reference, beside, cases, max(len(tests), 1), written), remarks=tuple(remarks))
    except PopcornError as error:
        return Found(**about, refused=str(error))


def _yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise BadProblem("task.yml is read with PyYAML, which is not installed: pip install pyyaml") from error
    try:
        told = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadProblem(f"task.yml is not YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(told, dict):
        raise BadProblem("task.yml is no mapping; expected `tests:` and `benchmarks:`")
    return told


def _parsed(reference: str) -> ast.Module:
    try:
        return ast.parse(reference)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadProblem(f"reference.py is not valid Python: {str(error)[:200]}") from error


def _refuse(told: dict[str, Any], tree: ast.Module) -> None:
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in ("ref_kernel", "generate_input"):
        if name not in functions:
            raise BadProblem(f"reference.py defines no function `{name}`; expected ref_kernel(data) and generate_input(…, seed)")
    if told.get("lang", "py") != "py":
        raise BadProblem(
            f"its language is {str(told['lang'])[:20]!r}: a reference in C++ gives no truth in float64; write ref_kernel in torch"
        )
    if "world_size" in str(told.get("tests"))[:10_000]:
        raise BadProblem(
            "it runs on several GPUs (world_size), one process each; write it as a problem with RANKS (docs/adding.md) for that"
        )


def _cases(told: dict[str, Any], name: str) -> list[dict[str, Any]]:
    cases = told.get(name) or []
    if not (isinstance(cases, list) and all(isinstance(case, dict) for case in cases)):
        raise BadProblem(f"`{name}` of task.yml is no list of mappings; expected lines such as - {{size: 128, seed: 1}}")
    kept = []
    for case in cases:
        if not all(isinstance(key, str) and key.isidentifier() for key in case):
            raise BadProblem(f"`{name}` of task.yml has the key {next(iter(case))!r}; expected names of generate_input's parameters"[:200])
        if not all(isinstance(value, int | float | str | bool) for value in case.values()):
            raise BadProblem(f"`{name}` of task.yml has a value that is no number or text; expected {{size: 128, seed: 1}}")
        kept.append({key: value for key, value in case.items() if key != "seed"})
    return [case for index, case in enumerate(kept) if case not in kept[:index]]


def _volume(case: dict[str, Any]) -> float:
    """Product of the sizes: tells small cases from large ones of the same task."""
    return math.prod(max(1, abs(value)) for value in case.values() if type(value) is int)


def _written(tree: ast.Module) -> tuple[int, ...]:
    """Places in `data` that ref_kernel writes into (`a, b, out = data`, then `out[...] = …`, `out.copy_(…)` or `out=out`): memory that the benchmark
    hands over for results."""
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "ref_kernel")
    if not function.args.args:
        return ()
    data, places = function.args.args[0].arg, dict[str, int]()
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Name)
            and node.value.id == data
            and isinstance(node.targets[0], ast.Tuple)
        ):
            places = {one.id: index for index, one in enumerate(node.targets[0].elts) if isinstance(one, ast.Name)}
    into = {
        target.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
    }
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        filled = [call.func.value] if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS else []
        filled += [word.value for word in call.keywords if word.arg == "out"]
        into |= {one.id for one in filled if isinstance(one, ast.Name)}
    rebound = {
        target.id for node in ast.walk(function) if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)
    }
    return tuple(sorted(places[name] for name in into - rebound if name in places))


def _compares(tree: ast.Module) -> bool:
    """Whether its check looks at what ref_kernel answers."""
    made = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign) and "check_implementation" in _names(node)]
    return any(isinstance(inner, ast.Name) and inner.id == "ref_kernel" for node in made for inner in ast.walk(node))


def _names(node: ast.FunctionDef | ast.Assign) -> list[str]:
    return [node.name] if isinstance(node, ast.FunctionDef) else [ast.unparse(target) for target in node.targets]


def _beside(told: dict[str, Any], path: Path, root: Path) -> dict[str, str]:
    """The task's further Python files by module name; they may lie up to two folders above the one that was given."""
    listed = told.get("files") or []
    sources = {str(one.get("name")): str(one.get("source")) for one in listed if isinstance(one, dict)}
    sources |= {one.name: one.name for one in path.parent.glob("*.py")}
    found = {}
    for name, source in sources.items():
        if not name.endswith(".py") or name in _OF_THEM or not name.removesuffix(".py").isidentifier() or source.startswith("@"):
            continue
        file = (path.parent / source).resolve()
        if file.suffix != ".py" or not file.is_relative_to(root.parents[1] if len(root.parents) > 1 else root):
            raise BadProblem(f"task.yml names the file {source[:80]!r}, which lies outside; import the folder that holds both")
        if not file.is_file():
            raise BadProblem(f"task.yml names the file {source[:80]!r}, which is not there; import a whole checkout")
        found[name.removesuffix(".py")] = read_python(file)
    return found


def _connected(reference: str, beside: dict[str, str], cases: list[dict[str, Any]], tests: int, written: tuple[int, ...]) -> str:
    future = re.findall(r"^from __future__ import [^\n]+$", reference, re.MULTILINE)
    reference = re.sub(r"^from __future__ import [^\n]+$", "", reference, flags=re.MULTILINE)
    texts = "".join(f"        {name!r}: (\n{_quoted(text)}        ),\n" for name, text in beside.items())
    lines = "".join(f"    {case!r},\n" for case in cases)
    numbers = tuple(range(1, len(cases) + 1))
    head = "".join(f"{line}\n" for line in future)
    return f'''{head}# --- the modules that reference.py imports, as they lie beside it

from popcorn.suites.beside import lie_beside

lie_beside(
    {{
{texts}    }}
)

# --- reference.py, word for word

{reference.strip()}


# --- how Popcorn connects this task: a trial draws one of its cases; a submission's custom_kernel(data) is taken as it is

import inspect as _inspect

import torch

from popcorn.suites.jitter import Dim

CASE = Dim({len(cases)}, among={numbers!r}, cpu={min(tests, len(cases))})
_CASES = [
{lines}]


class Model(torch.nn.Module):
    """`written`: places of data that are memory for results; each call finds fresh memory there."""

    def __init__(self, written=()):
        super().__init__()
        self.written = tuple(written)

    def forward(self, data):
        if self.written:
            data = tuple(torch.empty_like(one) if place in self.written else one for place, one in enumerate(data))
        return ref_kernel(data)


def get_inputs(CASE=CASE):
    case = dict(_CASES[CASE - 1])
    if "seed" in _inspect.signature(generate_input).parameters:
        case["seed"] = int(torch.randint(10_000, (), device="cpu"))  # small as the task's own: some add it to what they draw
    data = generate_input(**case)
    for place in {written!r}:  # what was never written has no values that a seed could give again
        data[place].zero_()
    return [data]


def get_init_inputs():
    return {[list(written)] if written else []!r}
'''


def _quoted(text: str) -> str:
    """A text as string literals, one a line, so that a reader of the problem can read it."""
    return "".join(f"            {line!r}\n" for line in text.splitlines(keepends=True) or [""])
