"""Case: the exact question. Sizes, element type, scalars, layout and gradient mode of one evaluation."""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Precision = Literal["float64", "float32", "tf32", "float16", "bfloat16"]
Layout = Literal["contiguous", "transposed", "sliced", "expanded"]
GradientMode = Literal["none", "grad"]

_SHORT = {"float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16"}


class Frozen(BaseModel):
    """A value that crosses a process or reaches a disk: immutable, strict about its fields, finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")


class Case(Frozen):
    """One setting in which a subject is judged and timed. Its `id` is stable and can be read aloud."""

    dims: dict[str, int] = Field(default_factory=dict)
    """Size of each named dimension, in elements. Empty for a file with fixed shapes."""
    precision: Precision = "float32"
    """Element type of floating inputs, weights and outputs; tf32 means float32 storage with tf32 products allowed."""
    scalars: dict[str, float | int | bool | str] = Field(default_factory=dict)
    """Scalar arguments that change the meaning (eps, causal, …)."""
    layout: Layout = "contiguous"
    """How the inputs lie in memory."""
    gradient: GradientMode = "none"
    """`none`: forward alone. `grad`: forward and the gradients of every differentiable input and parameter."""

    @property
    def id(self) -> str:
        """`R4-B8192-D1024-fp32-grad`: the same for equal cases on every machine."""
        parts = [f"{name}{size}" for name, size in self.dims.items()]
        parts.append(_SHORT[self.precision])
        parts += [f"{name}={value}" for name, value in sorted(self.scalars.items())]
        if self.layout != "contiguous":
            parts.append(self.layout)
        if self.gradient == "grad":
            parts.append("grad")
        return re.sub(r"[^A-Za-z0-9_.=+-]", "_", "-".join(parts))
