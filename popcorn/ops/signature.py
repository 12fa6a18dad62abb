"""An op's signature: named sizes, what each argument is, and a call read against it. Imports without torch; reads tensors that it is given.

    Signature({"x": "... D", "weight": "D", "eps": 1e-6}, out="... D")

A text is a tensor: its sizes by name, leading ones together as `...`, which counts as one size R, their product. `target="... < V"` is
an index: whole numbers from 0 to below V. A size is a name or a number. Anything but a text is the default of a scalar.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from popcorn.errors import PopcornError

ROWS = "R"
"""The size that stands for all leading ones."""

INDEX_BYTES = 8

_NAME = re.compile(r"[A-Za-z_]\w*(\*[A-Za-z_]\w*)*|\d+")


class BadOp(PopcornError):
    """A declaration that contradicts itself or its reference; the text says what to write."""


class Mismatch(TypeError):
    """Arguments that do not fit the signature; the text says which, what was expected and what came."""


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a signature."""

    name: str
    sizes: tuple[str, ...]
    """Names, numbers or products of names (`N*A`), `...` first where leading sizes are free. An output may name a whole scalar."""
    below: str | None = None
    """For an index, the size that its values stay under."""

    @property
    def whole(self) -> str | None:
        """Element type of an index: `int8` for values that stay under 128, else `int64`. None for a floating tensor."""
        return None if self.below is None else "int8" if self.below == "128" else "int64"

    def shape(self, dims: Mapping[str, int]) -> tuple[int, ...]:
        """The shape at these sizes, leading ones as one."""
        return tuple(_size(size, dims) for size in self.sizes)

    def bytes(self, dims: Mapping[str, int], itemsize: int) -> int:
        """Size in memory."""
        return math.prod(self.shape(dims)) * (INDEX_BYTES if self.below else itemsize)


@dataclass(frozen=True)
class Bound:
    """A call's arguments by place: tensors in order, scalars by name, sizes."""

    tensors: tuple[Any, ...]
    scalars: dict[str, Any]
    dims: dict[str, int]


@dataclass(frozen=True)
class Signature:
    """Tensors and scalars of an op, in the order in which they are passed."""

    inputs: tuple[TensorSpec, ...]
    scalars: dict[str, Any]
    outputs: tuple[TensorSpec, ...]
    names: tuple[str, ...] = ()
    """Every argument, in order."""
    dims: tuple[str, ...] = field(default=())
    """Every size's name, in the order of its first appearance."""

    @classmethod
    def read(cls, arguments: Mapping[str, Any], out: str | Sequence[str]) -> "Signature":
        """From the texts of a declaration. Raises BadOp for a text that is no list of sizes."""
        inputs = tuple(_tensor(name, text) for name, text in arguments.items() if isinstance(text, str))
        whole = [name for name, default in arguments.items() if type(default) is int]
        outputs = tuple(_tensor(f"out[{i}]", text) for i, text in enumerate([out] if isinstance(out, str) else out))
        seen = [
            ROWS if s == "..." else s
            for spec in inputs
            for part in (*spec.sizes, *([spec.below] if spec.below else []))
            for s in part.split("*")
            if not s.isdigit()
            and s != (spec.below if spec.below in whole else None)  # the bound of an index may be an argument, and is no size
        ]
        scalars = {name: default for name, default in arguments.items() if not isinstance(default, str)}
        bad = next((name for name, default in scalars.items() if not isinstance(default, (bool, int, float))), None)
        if bad is not None:
            raise BadOp(
                f"{bad} is declared by a {type(scalars[bad]).__name__}; expected a text of sizes ('... D') or a scalar's default (1e-6)"
            )
        for spec in outputs:
            names = [s for part in (*spec.sizes, *([spec.below] if spec.below else [])) for s in part.split("*")]
            lost = next((s for s in names if not s.isdigit() and s not in (*seen, *whole) and not (s == "..." and ROWS in seen)), None)
            if lost is not None:
                raise BadOp(
                    f"{spec.name} has the size {lost}, which no input has; expected one of {', '.join([*dict.fromkeys(seen), *whole])}"
                )
        return cls(inputs, scalars, outputs, tuple(arguments), tuple(dict.fromkeys(seen)))

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Arguments by their places, and the sizes that they have. Raises Mismatch."""
        if len(args) > len(self.names):
            raise Mismatch(f"{len(args)} arguments were given; expected at most {len(self.names)}: {', '.join(self.names)}")
        given = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names or name in given:
                raise Mismatch(f"{name!r} is {'given twice' if name in given else 'no argument'}; expected {', '.join(self.names)}")
            given[name] = value
        missing = [spec.name for spec in self.inputs if spec.name not in given]
        if missing:
            raise Mismatch(f"{missing[0]!r} is missing; expected {', '.join(self.names)}")
        tensors = tuple(given[spec.name] for spec in self.inputs)
        return Bound(tensors, {**self.scalars, **{n: v for n, v in given.items() if n in self.scalars}}, self.read_dims(tensors))

    def read_dims(self, tensors: Sequence[Any]) -> dict[str, int]:
        """The size of every name. Raises Mismatch where two tensors disagree. A size that no shape tells (an index's bound) is left out."""
        dims: dict[str, int] = {}
        products = []
        for spec, tensor in zip(self.inputs, tensors, strict=True):
            if type(tensor).__module__.partition(".")[0] == "numpy" or not hasattr(tensor, "shape"):
                raise Mismatch(
                    f"{spec.name} is a {type(tensor).__module__}.{type(tensor).__name__}; expected a torch.Tensor (torch.as_tensor makes one)"
                )
            shape = tuple(tensor.shape)
            free = spec.sizes[:1] == ("...",)
            sizes = spec.sizes[1:] if free else spec.sizes
            if len(shape) < len(sizes) or (not free and len(shape) != len(sizes)):
                raise Mismatch(f"{spec.name} has shape {shape}; expected ({', '.join(spec.sizes)})")
            pairs = list(zip(sizes, shape[len(shape) - len(sizes) :], strict=True))
            if free:
                pairs.insert(0, (ROWS, math.prod(shape[: len(shape) - len(sizes)])))
            for size, found in pairs:
                if "*" in size:
                    products.append((spec, shape, size, int(found)))
                    continue
                wanted = int(size) if size.isdigit() else dims.setdefault(size, int(found))
                if wanted != found:
                    raise Mismatch(f"{spec.name} has shape {shape}; expected {size} = {wanted} in ({', '.join(spec.sizes)})")
        for spec, shape, size, product in products:
            if all(name in dims for name in size.split("*")) and _size(size, dims) != product:
                raise Mismatch(f"{spec.name} has shape {shape}; expected {size} = {_size(size, dims)} in ({', '.join(spec.sizes)})")
        return {name: dims[name] for name in self.dims if name in dims}

    def min_bytes(self, dims: Mapping[str, int], itemsize: int) -> int:
        """Every input read once, every output written once."""
        sizes = {**{name: value for name, value in self.scalars.items() if type(value) is int}, **dims}
        return sum(spec.bytes(sizes, itemsize) for spec in (*self.inputs, *self.outputs))

    def schema(self) -> str:
        """As the schema language of torch writes it, without defaults, which torch would strip again: `(Tensor x, Tensor weight, float eps) -> Tensor`."""
        kinds = {bool: "bool", int: "int", float: "float", str: "str"}
        tensors = {spec.name for spec in self.inputs}
        arguments = ["Tensor " + n if n in tensors else f"{kinds[type(self.scalars[n])]} {n}" for n in self.names]
        results = "Tensor" if len(self.outputs) == 1 else f"({', '.join(['Tensor'] * len(self.outputs))})"
        return f"({', '.join(arguments)}) -> {results}"


def _size(size: str, dims: Mapping[str, int]) -> int:
    """A name's, a number's or a product's."""
    return math.prod(int(part) if part.isdigit() else dims[ROWS if part == "..." else part] for part in size.split("*"))


def _tensor(name: str, text: str) -> TensorSpec:
    shape, _, below = (part.strip() for part in text.partition("<"))
    sizes = tuple(shape.split())
    bad = [s for i, s in enumerate(sizes) if not _NAME.fullmatch(s) and not (s == "..." and i == 0)]
    if bad or (below and not _NAME.fullmatch(below)):
        raise BadOp(f"{name}: {text!r} is no list of sizes; expected names or numbers, `...` first at most, `< V` for an index")
    return TensorSpec(name, sizes, below or None)
