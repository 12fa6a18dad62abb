"""A problem as FlashInfer-Bench and SOL-ExecBench write them: definition, workloads, solutions, traces. Needs torch for the shapes alone."""

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from popcorn.errors import BadProblem
from popcorn.schema.record import Record
from popcorn.suites.jitter import Dim
from popcorn.suites.loading import Loaded, load
from popcorn.suites.problems import Problem, facts

STATUS = {
    "correct": "PASSED", "wrong_shape": "INCORRECT_SHAPE", "wrong_dtype": "INCORRECT_DTYPE", "wrong_values": "INCORRECT_NUMERICAL",
    "nonfinite": "INCORRECT_NUMERICAL", "not_deterministic": "INCORRECT_NUMERICAL", "mutated_inputs": "REWARD_HACK", "cheated": "REWARD_HACK",
    "compile_error": "COMPILE_ERROR", "timeout": "TIMEOUT", "invalid_reference": "INVALID_REFERENCE",
}  # fmt: skip
"""Our outcomes in their words; every other one is RUNTIME_ERROR."""
_ERRORS = ("max_abs_error", "max_rel_error")


def export_problem(problem: Problem, folder: Path, records: Iterable[Record] = ()) -> dict[str, int]:
    """Write `definition.json`, `workload.jsonl` and, for records of candidates, `solutions/` and `traces.jsonl`. Returns how many of each.

    Raises BadProblem for a problem without named sizes, or one whose shapes are no formula of them.
    """
    if facts(problem).dialect != "popcorn" or facts(problem).ranks is not None:
        raise BadProblem(f"{problem.id} has no named sizes of one process; only such problems can be written as a definition")
    loaded = load(problem)
    name = "_".join([*problem.id.replace("/", "_").split("_"), problem.name])[:120]
    definition = _definition(loaded, name)
    workloads = [_workload(loaded, sizes) for sizes in _sizes(loaded)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "definition.json").write_text(json.dumps(definition, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _lines(folder / "workload.jsonl", workloads)
    kept = [record for record in records if record.kind == "evaluation" and record.subject.source]
    for record in kept:
        (folder / "solutions").mkdir(exist_ok=True)
        place = folder / "solutions" / f"{record.subject.candidate_hash or record.id}.json"
        place.write_text(json.dumps(solution_of(record, name), indent=1), encoding="utf-8")
    _lines(folder / "traces.jsonl", [trace_of(record, name, workloads[0]) for record in kept])
    return {"workloads": len(workloads), "solutions": len(kept), "traces": len(kept)}


def solution_of(record: Record, definition: str) -> dict[str, Any]:
    """A candidate as a solution: its text as one source file."""
    subject = record.subject
    suffix = {"cuda": "cu", "cpp": "cpp", "c": "c", "sycl": "sycl"}.get(subject.language, "py")
    entry = "ModelNew" if suffix == "py" else "popcorn_forward"
    spec = {
        "language": subject.language,
        "target_hardware": [record.machine.device_id],
        "entry_point": f"main.{suffix}::{entry}",
        "dependencies": [],
    }
    source = {"path": f"main.{suffix}", "content": subject.source}
    return {"name": subject.candidate_hash or record.id, "definition": definition, "author": "popcorn", "spec": spec, "sources": [source]}


def trace_of(record: Record, definition: str, workload: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation as a trace. Latencies in milliseconds, as theirs are; performance only for a pass."""
    timing = record.measurement.timing
    passed = record.verdict.outcome == "correct"
    worst = [
        max((value for one in record.verdict.precision if (value := getattr(one, name)) is not None), default=None) for name in _ERRORS
    ]
    performance = None
    if passed and timing is not None:
        mine, theirs = timing.candidate.time_s * 1e3, timing.baseline.time_s * 1e3
        performance = {"latency_ms": mine, "reference_latency_ms": theirs, "speedup_factor": timing.speedup.value}
    evaluation = {
        "status": STATUS.get(record.verdict.outcome, "RUNTIME_ERROR"),
        "log": record.verdict.reason or "",
        "environment": {"hardware": record.machine.device_name, "libs": {"torch": record.machine.torch, "cuda": record.machine.cuda}},
        "timestamp": record.provenance.made,
        "correctness": {"max_absolute_error": worst[0], "max_relative_error": worst[1]} if passed else None,
        "performance": performance,
    }
    bound = {**workload, "axes": {**workload["axes"], **record.case.dims}}
    return {"definition": definition, "solution": record.subject.candidate_hash or record.id, "workload": bound, "evaluation": evaluation}


def _definition(loaded: Loaded, name: str) -> dict[str, Any]:
    problem = loaded.problem
    moving = {key: dim for key, dim in loaded.dims.items() if dim.low < dim.high}
    axes: dict[str, Any] = {
        key: {"type": "var" if key in moving else "const"} | ({} if key in moving else {"value": int(dim)})
        for key, dim in loaded.dims.items()
    }
    names = [one for one in inspect.signature(loaded.Model.forward).parameters if one != "self"]
    shapes, outputs = _shapes(loaded, axes)
    inputs = {one: told for one, told in zip(names, shapes, strict=False)}
    source = problem.source.replace("from popcorn.suites.jitter import Dim\n", _DIM)
    return {
        "name": name,
        "op_type": facts(problem).domain,
        "description": facts(problem).summary,
        "axes": axes,
        "inputs": inputs,
        "outputs": {f"out{index}": told for index, told in enumerate(outputs)},
        "custom_inputs_entrypoint": "make_inputs",
        "reference": source + _RUN.format(names=", ".join(names), pairs=repr(names), dims=repr(list(loaded.dims))),
    }


_DIM = """

def Dim(size, **_):
    return size


"""
_RUN = '''

_sizes = {{}}


def make_inputs(axes, device):
    """All inputs for some axes; the model's weights are drawn from seed 0."""
    _sizes.update({{name: axes[name] for name in {dims}}})
    with torch.device(device):
        return dict(zip({pairs}, _given(get_inputs), strict=True))


def _given(function):
    import inspect

    return function(**{{name: _sizes[name] for name in inspect.signature(function).parameters if name in _sizes}})


def run({names}):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Model(*_given(get_init_inputs))
    first = next(iter(one for one in ({names},) if torch.is_tensor(one) and one.is_floating_point()), None)
    model = model if first is None else model.to(first.device, first.dtype)
    with torch.no_grad():
        return model({names})
'''


def _sizes(loaded: Loaded) -> list[dict[str, int]]:
    """Nominal sizes, then the ends of the ranges where the problem allows them."""
    found = [loaded.draw_dims(0, False)]
    for end in ("low", "high"):
        sizes = {name: getattr(dim, end) for name, dim in loaded.dims.items()}
        if sizes not in found and (loaded.valid is None or loaded.valid(**sizes)):
            found.append(sizes)
    return found


def _workload(loaded: Loaded, sizes: Mapping[str, int]) -> dict[str, Any]:
    names = [one for one in inspect.signature(loaded.Model.forward).parameters if one != "self"]
    axes = {name: size for name, size in sizes.items() if loaded.dims[name].low < loaded.dims[name].high}
    identity = hashlib.sha256(json.dumps([loaded.problem.hash, axes]).encode()).hexdigest()
    uuid = f"{identity[:8]}-{identity[8:12]}-{identity[12:16]}-{identity[16:20]}-{identity[20:32]}"
    return {"uuid": uuid, "axes": axes, "inputs": {name: {"type": "custom"} for name in names}}


def _shapes(loaded: Loaded, axes: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shapes by axes, found by running at sizes of three kinds; an axis that is a product or a sum of two becomes an expression of its own."""
    runs = [_run_small(loaded, shift) for shift in (0, 1, 2)]
    found: list[list[dict[str, Any]]] = []
    for place in (1, 2):
        tensors = list(zip(*(run[place] for run in runs), strict=True))
        found.append(
            [
                {
                    "shape": _axes_of(list(zip(*(shape for shape, _ in one), strict=True)), [run[0] for run in runs], axes),
                    "dtype": one[0][1],
                }
                for one in tensors
            ]
        )
    return found[0], found[1]


def _run_small(loaded: Loaded, shift: int) -> tuple[dict[str, int], list[tuple[tuple[int, ...], str]], list[tuple[tuple[int, ...], str]]]:
    small: dict[str, Dim] = {name: dim.at("cpu") for name, dim in load(loaded.problem, "cpu").dims.items()}
    sizes = {
        name: int(dim) + shift * dim.align * (index + 1) if dim.low < dim.high else int(loaded.dims[name].cpu)
        for index, (name, dim) in enumerate(small.items())
    }
    if loaded.valid is not None and not loaded.valid(**sizes):
        sizes = {name: int(dim) for name, dim in small.items()}
    torch.manual_seed(0)
    inputs = loaded.inputs(sizes)
    with torch.no_grad():
        outputs = loaded.model(sizes)(*inputs)
    tell = lambda t: (tuple(t.shape), str(t.dtype).removeprefix("torch."))  # noqa: E731
    return sizes, [tell(one) for one in inputs], [tell(one) for one in (outputs if isinstance(outputs, list | tuple) else [outputs])]


def _axes_of(lengths: list[tuple[int, ...]], runs: list[dict[str, int]], axes: dict[str, Any]) -> list[str]:
    return [_axis(length, runs, axes) for length in lengths]


def _axis(length: tuple[int, ...], runs: list[dict[str, int]], axes: dict[str, Any]) -> str:
    """The name of the axis whose sizes in the runs these are; a new constant or expression where there is none."""
    sizes = {name: tuple(run[name] for run in runs) for name in runs[0]}
    for name, values in sizes.items():
        if values == length:
            return name
    if len(set(length)) == 1 and all(value.get("type") != "const" for value in axes.values()):
        axes[f"size_{length[0]}"] = {"type": "const", "value": length[0]}
        return f"size_{length[0]}"
    texts = {f"{a} * {b}": tuple(x * y for x, y in zip(sizes[a], sizes[b], strict=True)) for a in sizes for b in sizes}
    for step in (1, 2, 3, 4, 6, 8):
        for a in sizes:
            texts |= {f"{a} + {step}": tuple(x + step for x in sizes[a]), f"{a} - {step}": tuple(x - step for x in sizes[a])}
            texts |= {
                f"{a} // {step + 1}": tuple(x // (step + 1) for x in sizes[a]),
                f"{a} * {step + 1}": tuple(x * (step + 1) for x in sizes[a]),
            }
    for text, values in texts.items():
        if values == length:
            key = "axis_" + text.replace(" * ", "_times_").replace(" + ", "_plus_").replace(" - ", "_minus_").replace(" // ", "_over_")
            axes[key] = {"type": "expr", "expression": text}
            return key
    if len(set(length)) == 1:
        axes[f"size_{length[0]}"] = {"type": "const", "value": length[0]}
        return f"size_{length[0]}"
    raise BadProblem(
        f"an axis of lengths {length} at the sizes {runs} is no simple formula of them; such a problem cannot be written as a definition"
    )


def _lines(path: Path, values: list[dict[str, Any]]) -> None:
    if values:
        path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in values), encoding="utf-8")
