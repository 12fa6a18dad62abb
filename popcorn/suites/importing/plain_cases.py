"""A folder with `reference.py` and `cases.toml`: a function, the shapes of its arguments, and sizes.

    entry = "scaled_softmax"             # default: reference, forward or run
    [inputs]
    x = ["B", "D"]                       # a tensor of floats
    index = { shape = ["B"], dtype = "int64" }
    scale = "scalar"                     # a number, given by each case
    [[cases]]
    B = 64
    D = 1000
    scale = 0.5

A reference.py that has Model and get_inputs needs no [inputs]; its cases then set the parameters of get_inputs.
"""

import ast
import tomllib
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.facts import parse
from popcorn.suites.importing.found import Found, files_below, read_python, read_text, snake
from popcorn.suites.importing.settings import connect
from popcorn.suites.importing.workloads import Input, Spec, compose

_ENTRIES = ("reference", "forward", "run")


def looks_like(folder: Path) -> bool:
    """Whether some folder holds a cases.toml."""
    return any(path.name == "cases.toml" for path in files_below(folder.resolve(), ".toml"))


def read(folder: Path) -> list[Found]:
    """One problem for each cases.toml."""
    root = folder.resolve()
    return [_found(path, root) for path in files_below(root, ".toml") if path.name == "cases.toml"]


def _found(path: Path, root: Path) -> Found:
    name = snake(path.parent.name)
    about: dict[str, Any] = {"key": name, "name": name, "where": str(path.relative_to(root))}
    try:
        told = tomllib.loads(read_text(path))
        reference = read_python(path.with_name("reference.py"))
        cases = told.get("cases")
        if not (isinstance(cases, list) and cases and all(isinstance(case, dict) for case in cases)):
            raise BadProblem("cases.toml has no [[cases]]; expected one table a case, with a size for each axis")
        if "inputs" not in told:
            parse(reference, "reference.py")
            return Found(**about, source=reference + connect([(case, case) for case in cases], False))
        source, remarks = compose(Spec(reference, _entry(reference, told.get("entry")), _inputs(told["inputs"]), {}, {}, cases))
        return Found(**about, source=source, remarks=tuple(remarks))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Found(**about, refused=f"is not TOML: {str(error)[:200]}")
    except PopcornError as error:
        return Found(**about, refused=str(error))


def _entry(reference: str, told: Any) -> str:
    if isinstance(told, str):
        return told
    try:
        functions = [node.name for node in ast.parse(reference).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadProblem(f"reference.py is not valid Python: {str(error)[:200]}") from error
    entry = next((name for name in _ENTRIES if name in functions), functions[0] if len(functions) == 1 else None)
    if entry is None:
        raise BadProblem('reference.py has no function `reference`; name the one that is meant: entry = "…" in cases.toml')
    return entry


def _inputs(told: Any) -> dict[str, Input]:
    if not isinstance(told, dict) or not told:
        raise BadProblem('[inputs] of cases.toml is empty; expected shapes such as x = ["B", "D"]')
    made = {}
    for name, one in told.items():
        shape, dtype = (one.get("shape"), one.get("dtype", "float32")) if isinstance(one, dict) else (one, "float32")
        if shape == "scalar":
            made[name] = Input(None, "float64")
        elif isinstance(shape, list) and all(isinstance(axis, str) or type(axis) is int for axis in shape):
            made[name] = Input(tuple(shape), str(dtype))
        else:
            raise BadProblem(f'the input `{name}` has no shape; expected ["B", "D"], "scalar", or {{ shape = […], dtype = "int64" }}')
    return made
