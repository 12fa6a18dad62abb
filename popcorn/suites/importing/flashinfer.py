"""Definitions and workloads of FlashInfer-Bench and SOL-ExecBench: `definition.json` with `workload.jsonl`, or `definitions/` with `workloads/`.

Solutions (`solution*.json`, `solutions/`) become candidate files beside their problem. Traces hold results, which are never imported as ours.
"""

import functools
import hashlib
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.importing.found import Found, files_below, read_json, read_json_lines, snake
from popcorn.suites.importing.solutions import candidates
from popcorn.suites.importing.workloads import Input, Spec, compose

MAX_WORKLOADS = 128
"""Workloads kept of a definition."""


def looks_like(folder: Path) -> bool:
    """Whether some JSON file below is a definition."""
    return any(_definition(path) is not None for path in files_below(folder.resolve(), ".json")[:400])


def read(folder: Path) -> list[Found]:
    """One problem for each definition."""
    root = folder.resolve()
    documents = files_below(root, ".json")
    workloads, unread = _workloads(root)
    solutions = _solutions(documents)
    return [_found(path, root, workloads, unread, solutions) for path in documents if _definition(path) is not None or _broken(path)]


def _definition(path: Path) -> dict[str, Any] | None:
    try:
        value = read_json(path)
    except PopcornError:
        return None
    return value if isinstance(value, dict) and {"axes", "inputs", "reference"} <= set(value) else None


def _broken(path: Path) -> bool:
    """A file that should be a definition by its place and is none."""
    return path.name == "definition.json" or "definitions" in path.parts


def _found(
    path: Path, root: Path, workloads: dict[str, list[Any]], unread: dict[str, str], solutions: dict[str, list[dict[str, Any]]]
) -> Found:
    stem = path.parent.name if path.name == "definition.json" and path.parent != root else path.stem
    about: dict[str, Any] = {"key": snake(stem), "name": snake(stem), "where": str(path.relative_to(root))}
    try:
        definition = read_json(path)
        if not isinstance(definition, dict):
            raise BadProblem("is not a JSON object; expected a definition")
        title = str(definition.get("name") or stem)
        about.update(key=snake(title), name=snake(title))
        beside = f"/{path.parent}" if path.name == "definition.json" else title
        if beside in unread or title in unread:
            raise BadProblem(unread.get(beside) or unread[title])
        given = workloads.get(beside) or workloads.get(title) or []
        spec, remarks = _spec(definition, given, path.parent, root)
        source, more = compose(spec)
        tensors = sorted({one["path"] for work in spec.workloads for one in work.values() if isinstance(one, dict)})
        if tensors:
            more.append(
                f"reads {len(tensors)} tensor {'files' if len(tensors) > 1 else 'file'} of the checkout, which must stay where it is"
            )
        return Found(
            **about, source=source, remarks=(*remarks, *more), files=candidates(solutions.get(title, []), spec), tensors=tuple(tensors)
        )
    except PopcornError as error:
        return Found(**about, refused=str(error))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Found(**about, refused=f"its reference is not valid Python: {str(error)[:200]}")


def _spec(definition: dict[str, Any], workloads: list[Any], folder: Path, root: Path) -> tuple[Spec, list[str]]:
    constants, expressions = _axes(definition["axes"])
    inputs = _tensors(definition["inputs"], "inputs")
    outputs = _tensors(definition.get("outputs") or {}, "outputs")
    reference, custom = definition["reference"], definition.get("custom_inputs_entrypoint")
    if not isinstance(reference, str) or not (custom is None or isinstance(custom, str)):
        raise BadProblem("`reference` or `custom_inputs_entrypoint` is not text")
    kept, refused = [], []
    for one in workloads[:MAX_WORKLOADS]:
        try:
            kept.append(_bound(one, inputs, folder, root))
        except BadProblem as error:
            refused.append(str(error))
    if not workloads and "var" not in {axis.get("type") for axis in definition["axes"].values()}:
        kept.append({})
    if refused and not kept:
        raise BadProblem(f"none of its {len(workloads)} workloads can be made: {refused[0]}")
    remarks = [f"{_count(refused)} left out: {refused[0]}"] if refused else []
    if len(workloads) > MAX_WORKLOADS:
        remarks.append(f"{len(workloads) - MAX_WORKLOADS} of its {len(workloads)} workloads are left out: {MAX_WORKLOADS} are kept")
    if definition.get("constraints"):
        remarks.append(f"its constraints ({str(definition['constraints'])[:80]}) hold in its own workloads, which are the only ones drawn")
    return Spec(reference, "run", inputs, constants, expressions, kept, custom, outputs), remarks


def _count(workloads: list[Any]) -> str:
    return "1 workload is" if len(workloads) == 1 else f"{len(workloads)} workloads are"


def _axes(axes: Any) -> tuple[dict[str, int], dict[str, str]]:
    if not (isinstance(axes, dict) and all(isinstance(axis, dict) for axis in axes.values())):
        raise BadProblem("`axes` is not an object of objects")
    constants, expressions = {}, {}
    for name, axis in axes.items():
        kind = axis.get("type")
        if kind == "const" and type(axis.get("value")) is int:
            constants[name] = axis["value"]
        elif kind == "expr" and isinstance(axis.get("expression"), str):
            expressions[name] = axis["expression"]
        elif kind != "var":
            raise BadProblem(f"the axis `{str(name)[:60]}` is neither const with a value, nor var, nor expr with an expression")
    return constants, expressions


def _tensors(told: Any, what: str) -> dict[str, Input]:
    if not isinstance(told, dict):
        raise BadProblem(f"`{what}` is not an object of tensors")
    made = {}
    for name, one in told.items():
        shape = one.get("shape") if isinstance(one, dict) else ()
        if not isinstance(one, dict) or not isinstance(one.get("dtype"), str) or not (shape is None or isinstance(shape, list)):
            raise BadProblem(f"`{what}` describes `{str(name)[:60]}` without a shape or a dtype")
        if any(not isinstance(axis, str) and type(axis) is not int for axis in shape or []):
            raise BadProblem(f"the shape of `{name}` holds something that is neither an axis nor a number")
        made[str(name)] = Input(None if shape is None else tuple(shape), one["dtype"])
    return made


def _bound(workload: Any, inputs: dict[str, Input], folder: Path, root: Path) -> dict[str, Any]:
    """Numbers of the axes, scalars and files of one workload."""
    if not isinstance(workload, dict) or not isinstance(workload.get("axes") or {}, dict):
        raise BadProblem("a workload is not an object with `axes`")
    bound: dict[str, Any] = {
        str(name): size for name, size in (workload.get("axes") or {}).items() if type(size) is int and 0 < size < 2**40
    }
    for name, told in (workload.get("inputs") or {}).items():
        kind = told.get("type") if isinstance(told, dict) else None
        if kind == "scalar" and isinstance(told.get("value"), bool | int | float):
            bound[name] = told["value"]
        elif kind == "safetensors":
            path = _tensor_file(str(told.get("path")), folder, root)
            bound[name] = {"path": path, "tensor_key": str(told.get("tensor_key")), "sha256": digest(path)}
        elif kind not in ("random", "custom"):
            raise BadProblem(f"the input `{str(name)[:60]}` comes from {str(kind)[:40]!r}; expected random, scalar, safetensors or custom")
    return bound


def _tensor_file(path: str, folder: Path, root: Path) -> str:
    for start in (folder, root, root.parent):
        candidate = (start / path).resolve()
        if candidate.is_file() and candidate.is_relative_to(root.parent):
            return str(candidate)
    raise BadProblem(f"the tensor file {path[-80:]} is not there; fetch it beside the definition")


@functools.lru_cache(maxsize=1024)
def digest(path: str) -> str:
    """Part of the problem's text, so that other tensors make another version."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _workloads(root: Path) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Workloads by definition's name, or by `/folder` for a file beside a definition.json; and reasons for files that cannot be read."""
    found: dict[str, list[Any]] = {}
    unread: dict[str, str] = {}
    for path in files_below(root, ".jsonl"):
        beside = path.name in ("workload.jsonl", "workloads.jsonl") and path.with_name("definition.json").is_file()
        if not beside and "workloads" not in path.parts:
            continue
        key = f"/{path.parent}" if beside else path.stem
        try:
            lines, _ = read_json_lines(path, 4 * MAX_WORKLOADS)
        except PopcornError as error:
            unread[key] = str(error)
            continue
        for line in lines:
            inner = line.get("workload", line) if isinstance(line, dict) else line
            name = line.get("definition") if isinstance(line, dict) and not beside else None
            found.setdefault(str(name or key), []).append(inner)
    return found, unread


def _solutions(documents: list[Path]) -> dict[str, list[dict[str, Any]]]:
    """Solutions by definition's name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in documents:
        if not (path.name.startswith("solution") or "solutions" in path.parts):
            continue
        try:
            value = read_json(path)
        except PopcornError:
            continue
        if isinstance(value, dict) and isinstance(value.get("definition"), str) and isinstance(value.get("sources"), list):
            found.setdefault(value["definition"], []).append({**value, "name": str(value.get("name") or path.stem)})
    return found
