"""A case of an op as something that the worker judges: a problem's text, and an implementation as a model. Imports without torch.

So an op's figure is taken by the same design as a candidate's: the reference in a process of its own, truth in float64, fresh seeds,
sides that take turns. The only difference is trust: an implementation is installed code, loaded by name, and runs without a sandbox.
"""

from collections.abc import Mapping
from typing import Any

from popcorn.ops.calls import Call, Rejected
from popcorn.ops.registry import Op, find_op
from popcorn.schema.case import Case
from popcorn.suites.problems import Problem

_TEXT = '''"""{name}: a case of the library; the reference is the op's own."""

import torch
from torch import nn

from popcorn.ops.registry import find_op
from popcorn.suites.jitter import Dim

DIFFERENTIABLE = {differentiable}
NONCONTIGUOUS = {noncontiguous}
{tolerance}
{sizes}

OP = find_op({name!r}, {file!r})
SCALARS = {scalars!r}


class Model(nn.Module):
    def __init__(self, *scalars):
        super().__init__()

    def forward(self, *inputs):
        return OP.reference(*inputs, **SCALARS)


def get_inputs({defaults}):
    return OP.make_inputs({dims})


def get_init_inputs():
    return {init}


def min_bytes({defaults}{comma}itemsize=4):
    return OP.min_bytes({dims}, itemsize)
{flops}
# The reference:
#
{reference}
'''

_FLOPS = """

def flops({defaults}):
    return OP.flops({dims})

"""


def problem_of(op: Op, case: Case, multiples: Mapping[str, int] | None = None, candidate: bool = False) -> Problem:
    """The case as a problem, whose sizes are drawn near the case's own in trials and are the case's own when timed.

    multiples: sizes that are drawn in multiples, for an implementation that takes no others. candidate: for a text that is judged before it
    is an implementation; it is given scalars as a problem's constructor arguments, and contiguous tensors, as it would be called. Its hash is that of the reference alone: one op has one hash in all its cases.
    """
    defaults = ", ".join(f"{name}={name}" for name in case.dims)
    dims = "{" + ", ".join(f"{name!r}: {name}" for name in case.dims) + "}"
    tolerance = f"TOLERANCE = {op.tolerance!r}\nTOLERANCE_WHY = {op.tolerance_why!r}\n" if op.tolerance else ""
    text = _TEXT.format(
        name=op.name,
        file=op.file,
        differentiable=op.differentiable,
        tolerance=tolerance,
        sizes="\n".join(_size(name, size, op, multiples or {}) for name, size in case.dims.items()),
        noncontiguous=not candidate,
        init=list(case.scalars.values()) if candidate else [],
        scalars=dict(case.scalars),
        defaults=defaults,
        comma=", " if defaults else "",
        dims=dims,
        flops=_FLOPS.format(defaults=defaults, dims=dims) if op.flops(case.dims) is not None else "",
        reference="\n".join(f"# {line}".rstrip() for line in op.reference_source.strip().splitlines()),
    )
    return Problem(id=op.name, name=op.name, path=str(op.file or op.folder), source=text, hash=op.hash, origin="op")


def _size(name: str, size: int, op: Op, multiples: Mapping[str, int]) -> str:
    step = multiples.get(name, 1)
    settings = ", fixed=True" if name in op.fixed else f", align={step}" if step > 1 and size % step == 0 else ""
    # a band of 15 % may hold no other multiple than the size itself
    return f"{name} = Dim({size}{settings})"


def model_class(op: str, file: str | None, name: str, scalars: Mapping[str, Any]) -> type:
    """A class whose forward is this implementation. Needs torch. NotImplementedError, which is the outcome `rejected`, where it cannot run."""
    import torch

    found = find_op(op, file).load_only(name)
    if found.run is None:
        answer = found.accepts(Call({}, "float32", "cpu"))
        raise NotImplementedError(answer.reason if isinstance(answer, Rejected) else f"{name} did not load")
    run, given = found.run, dict(scalars)

    class Implemented(torch.nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return run(*inputs, **given)

    return Implemented
