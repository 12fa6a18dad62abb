"""A function, the shapes of its inputs by named axes, and workloads that give the axes numbers: the text that makes a problem of them.

The form that FlashInfer-Bench and SOL-ExecBench share, and our own `reference.py` with `cases.toml`.
"""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from popcorn.errors import BadProblem

CPU_BYTES = 64 << 20
"""Workloads whose inputs are larger are left out on a machine without GPU, as long as one remains."""

_NAME = re.compile(r"[A-Za-z_]\w{0,60}")
_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
_FLOATS = ("float64", "float32", "float16", "bfloat16")
_OURS = {"Model", "Dim", "WORKLOAD", "get_inputs", "get_init_inputs", "min_bytes", "flops", "valid", "nn"}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.UAdd, ast.USub)


@dataclass(frozen=True)
class Input:
    """One argument of the function."""

    shape: tuple[str | int, ...] | None
    """Names of axes or numbers; None for a Python scalar."""
    dtype: str
    """`float32`, `int64`, …"""


@dataclass(frozen=True)
class Spec:
    """What a problem is made of."""

    reference: str
    """Text that defines the function."""
    entry: str
    """The function's name in it."""
    inputs: dict[str, Input]
    """Arguments in order."""
    constants: dict[str, int]
    """Axes that never change."""
    expressions: dict[str, str]
    """Axes computed from others."""
    workloads: list[dict[str, Any]]
    """Numbers of the axes that change; scalars' values under their names, files of tensors as {"path", "tensor_key"}."""
    custom: str | None = None
    """Function of the text that makes all inputs from the axes."""
    outputs: dict[str, Input] = field(default_factory=dict)
    """Shapes of the results, where they are told: for the least bytes."""


def sizes_of(spec: Spec, workload: Mapping[str, Any]) -> dict[str, int]:
    """Every axis as a number. Raises BadProblem naming an axis that has none, or an expression that is none."""
    sizes = {**spec.constants, **{name: value for name, value in workload.items() if type(value) is int}}
    for name, expression in spec.expressions.items():
        sizes[name] = evaluate(expression, sizes)
    return sizes


def evaluate(expression: str, sizes: Mapping[str, int]) -> int:
    """The value of an expression of axes: + − * / // % **, parentheses, names, whole numbers, and nothing else."""
    if len(expression) > 200:
        raise BadProblem("an axis has an expression of more than 200 characters")
    try:
        value = _value(ast.parse(expression, mode="eval").body, sizes)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
        raise BadProblem(f"the axis expression {expression!r} has no value: {error}") from error
    if value != int(value) or not 0 < value < 2**40:
        raise BadProblem(f"the axis expression {expression!r} gives {value}; expected a size")
    return int(value)


def _value(node: ast.expr, sizes: Mapping[str, int]) -> float:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id in sizes:
        return sizes[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, _OPERATORS):
        return _value(node.operand, sizes) * (-1 if isinstance(node.op, ast.USub) else 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        a, b = _value(node.left, sizes), _value(node.right, sizes)
        if isinstance(node.op, ast.Pow):
            if abs(a) > 2**20 or not 0 <= b <= 8:
                raise ValueError("a power that large is no size")
            return a**b
        return {
            ast.Add: lambda: a + b, ast.Sub: lambda: a - b, ast.Mult: lambda: a * b,
            ast.Div: lambda: a / b, ast.FloorDiv: lambda: a // b, ast.Mod: lambda: a % b,
        }[type(node.op)]()  # fmt: skip
    raise ValueError(f"`{ast.unparse(node)[:60]}` is neither an axis nor a whole number")


def shape_at(one: Input, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an input at some sizes."""
    shape = []
    for axis in one.shape or ():
        size = axis if isinstance(axis, int) else sizes.get(axis)
        if size is None or size < 0:
            raise BadProblem(f"the axis {str(axis)[:60]!r} has no size; give it one in `axes` or in every workload")
        shape.append(size)
    return tuple(shape)


def input_bytes(spec: Spec, workload: Mapping[str, Any]) -> int:
    """Bytes of the inputs of a workload."""
    sizes = sizes_of(spec, workload)
    return sum(math.prod(shape_at(one, sizes)) * _BYTES[one.dtype] for one in spec.inputs.values() if one.shape is not None)


def compose(spec: Spec) -> tuple[str, list[str]]:
    """The problem's text, the reference word for word at its top, and remarks. Raises BadProblem where the parts do not fit."""
    _check(spec)
    ordered = sorted(spec.workloads, key=lambda one: input_bytes(spec, one))
    small = [index for index, one in enumerate(ordered, 1) if input_bytes(spec, one) <= CPU_BYTES]
    remarks = [f"{len(ordered)} workload{'s' if len(ordered) > 1 else ''}, one a trial; the largest is timed"]
    if small and len(small) < len(ordered):
        remarks.append(f"on a machine without GPU the {len(ordered) - len(small)} largest are left out")
    floats = sorted({one.dtype for one in spec.inputs.values() if one.shape is not None and one.dtype in _FLOATS})
    if floats and floats != ["float32"]:
        remarks.append(
            f"its floating inputs are {' and '.join(floats)}; `--precision` decides, so choose {floats[0]} to judge at that type"
        )
    calls = [{**one, **sizes_of(spec, one)} for one in ordered]
    shapes = {name: None if one.shape is None else list(one.shape) for name, one in spec.inputs.items()}
    dtypes = {name: one.dtype for name, one in spec.inputs.items()}
    outputs = {
        name: [list(one.shape or ()), one.dtype] for name, one in spec.outputs.items() if one.shape is not None and one.dtype in _BYTES
    }
    return (
        f"""{_reference(spec)}


# --- how Popcorn connects this function: a trial draws one of its workloads

import math as _math

import torch
from torch import nn

from popcorn.suites.jitter import Dim

_entry, _custom = {spec.entry}, {spec.custom}
WORKLOAD = Dim({len(ordered)}, among={tuple(range(1, len(ordered) + 1))}, cpu={max(small, default=1)})
_WORKLOADS = {calls!r}
_SHAPES = {shapes!r}
_DTYPES = {dtypes!r}
_OUTPUTS = {outputs!r}
BYTES_WHY = "a result is counted at the smaller of its declared type and the run's precision: the reference may insist on either"
_RESULTS = {list(spec.outputs)!r}
_FLOATS = {_FLOATS!r}
_BYTES = {_BYTES!r}


class Model(nn.Module):
    def forward(self, *inputs):
        made = _entry(*inputs)
        if isinstance(made, dict) and set(made) == set(_RESULTS):  # results by name: in the order of the definition
            made = tuple(made[name] for name in _RESULTS)
        return made[0] if isinstance(made, tuple) and len(made) == 1 else made


def _size(axis, workload):
    return axis if isinstance(axis, int) else workload[axis]


def _made(name, workload):
    if _SHAPES[name] is None:
        return workload[name]
    if isinstance(workload.get(name), dict):
        from safetensors.torch import load_file

        return load_file(workload[name]["path"])[workload[name]["tensor_key"]].to(torch.get_default_device())
    shape, dtype = [_size(axis, workload) for axis in _SHAPES[name]], _DTYPES[name]
    if dtype in _FLOATS:
        return torch.randn(shape)
    if dtype == "bool":
        return torch.rand(shape) < 0.5
    if dtype.startswith("float8"):
        return torch.randn(shape).to(getattr(torch, dtype))
    return torch.randint(0, 128 if dtype in ("int8", "uint8") else 2, shape, dtype=getattr(torch, dtype))


def get_inputs(WORKLOAD=WORKLOAD):
    workload = _WORKLOADS[WORKLOAD - 1]
{_making(spec)}


def get_init_inputs():
    return []


def _bytes_of(shape, dtype, workload, itemsize):
    return _math.prod(_size(axis, workload) for axis in shape) * (itemsize if dtype in _FLOATS else _BYTES[dtype])


def min_bytes(WORKLOAD=WORKLOAD, itemsize=4):
    workload = _WORKLOADS[WORKLOAD - 1]
    read = sum(_bytes_of(shape, _DTYPES[name], workload, itemsize) for name, shape in _SHAPES.items() if shape is not None)
    return read + sum(_bytes_of(shape, dtype, workload, min(itemsize, _BYTES[dtype])) for shape, dtype in _OUTPUTS.values())
""",
        remarks,
    )


def _reference(spec: Spec) -> str:
    """The reference's text as it is, or, where it uses names that the problem needs for itself, in a namespace of its own."""
    tree = ast.parse(spec.reference)
    bound = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {name.id for node in tree.body if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)}
    if not bound & _OURS:
        return spec.reference.rstrip()
    lines = "".join(f"    {line!r}\n" for line in spec.reference.splitlines(keepends=True))
    taken = "".join(f"{name} = _namespace[{name!r}]\n" for name in (spec.entry, spec.custom) if name)
    return f"_TEXT = (\n{lines})\n_namespace = {{'__name__': 'reference'}}\nexec(compile(_TEXT, 'reference', 'exec'), _namespace)\n{taken}".rstrip()


def _making(spec: Spec) -> str:
    if spec.custom is None:
        return "    return [_made(name, workload) for name in _SHAPES]"
    return (
        "    made = _custom(dict(workload), torch.get_default_device())\n"
        "    return [made[name] if name in made else _made(name, workload) for name in _SHAPES]"
    )


def _check(spec: Spec) -> None:
    names: Sequence[str] = [spec.entry, *spec.inputs, *spec.constants, *spec.expressions, *([spec.custom] if spec.custom else [])]
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadProblem(f"{name[:60]!r} is no name that Python allows")
    if not spec.workloads:
        raise BadProblem("there is no workload, so its axes have no sizes")
    for name, one in spec.inputs.items():
        if one.dtype not in _BYTES:
            raise BadProblem(
                f"the input `{name}` is {one.dtype[:40]}, which torch does not compute with; expected one of {', '.join(_BYTES)}"
            )
        if one.shape is None and any(name not in workload for workload in spec.workloads) and spec.custom is None:
            raise BadProblem(f"the scalar `{name}` has no value in some workload")
    tree = ast.parse(spec.reference)
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function in filter(None, (spec.entry, spec.custom)):
        if function not in defined:
            raise BadProblem(f"the reference defines no function `{function}`")
