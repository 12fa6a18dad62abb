"""Which cases of an op are measured, and in which order. Imports without torch.

Three strata. *coverage*: pairwise over sizes, element types, layouts and gradient modes: every value and every pair of values of two
axes stands in some case, at a tiny share of the full product. *production*: one size varies, the others stay at what training uses.
*context*: the long sizes, up to a million, with the others reduced. Smaller cases come first in each, so that the frontier (what ran out
of memory or time) is met before anything beyond it is paid for.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from popcorn.schema.case import Case, GradientMode, Layout, Precision

Stratum = Literal["coverage", "production", "context"]

Dims = Mapping[str, int]


@dataclass(frozen=True)
class Curve:
    """One size varies over `values`, the others stay fixed."""

    stratum: Stratum
    axis: str
    values: tuple[int, ...]
    fixed: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """The sizes that an op is measured at."""

    pools: dict[str, tuple[int, ...]]
    """Values of each size for the coverage; awkward ones among them."""
    curves: tuple[Curve, ...] = ()
    """Named curves for plots and for interpolation."""
    layouts: tuple[Layout, ...] = ("contiguous", "transposed", "sliced")
    """Layouts of the coverage; curves are contiguous."""

    def ordered(self, *names: str) -> "Plan":
        """The same with the sizes in another order, which is the order in a case's id."""
        return replace(self, pools={name: self.pools[name] for name in names})


@dataclass(frozen=True)
class Planned:
    """A case and why it is in the plan."""

    case: Case
    stratum: Stratum
    cost: float
    """Bytes that the case moves at least: the order."""


ROW_COUNTS = (1, 7, 64, 512, 4096, 16384, 65536)
WIDTHS = (64, 129, 768, 1024, 4096, 8192)

NORM = Plan(
    {"R": ROW_COUNTS, "D": WIDTHS},
    (
        Curve("production", "R", (1, 16, 128, 512, 2048, 4096, 8192, 16384, 32768, 65536), {"D": 4096}),
        Curve("production", "D", (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384), {"R": 4096}),
        Curve("context", "R", (8192, 32768, 131072, 524288, 1048576), {"D": 256}),
    ),
)
GATED = Plan(
    {"R": ROW_COUNTS, "D": (64, 129, 1408, 4096, 11008, 14336)},
    (
        Curve("production", "R", (1, 16, 128, 512, 2048, 4096, 8192, 16384, 32768), {"D": 11008}),
        Curve("production", "D", (128, 512, 1408, 4096, 8192, 14336, 28672), {"R": 2048}),
        Curve("context", "R", (8192, 32768, 131072, 524288, 1048576), {"D": 256}),
    ),
)
ROTARY = Plan(
    {"R": (1, 3, 8, 32, 128), "T": (1, 127, 512, 2048, 8192), "K": (32, 64, 128)},
    (
        Curve("production", "T", (128, 512, 1024, 2048, 4096, 8192, 16384, 32768), {"R": 32, "K": 128}),
        Curve("context", "T", (8192, 32768, 131072, 524288, 1048576), {"R": 2, "K": 64}),
    ),
)
VOCABULARY = Plan(
    {"R": (1, 7, 64, 512, 4096, 8192), "V": (128, 1001, 32000, 50257, 128256)},
    (
        Curve("production", "R", (64, 256, 1024, 2048, 4096, 8192), {"V": 128256}),
        Curve("production", "V", (1024, 8192, 32000, 50257, 128256, 262144), {"R": 2048}),
        Curve("context", "R", (8192, 32768, 131072, 524288), {"V": 1024}),
    ),
)

HEAD = Plan(
    {"R": (1, 7, 64, 512, 4096), "D": (64, 129, 768, 4096), "V": (128, 1001, 32000, 128256)},
    (
        Curve("production", "R", (64, 256, 1024, 2048, 4096, 8192, 16384), {"D": 4096, "V": 128256}),
        Curve("production", "V", (1024, 8192, 32000, 50257, 128256, 262144), {"R": 2048, "D": 2048}),
        Curve("context", "R", (8192, 32768, 131072, 524288), {"D": 64, "V": 1024}),
    ),
)


TABLE = Plan(
    {"R": ROW_COUNTS, "V": (1001, 32000, 128256), "D": (64, 129, 1024, 4096)},
    (
        Curve("production", "R", (64, 512, 2048, 8192, 32768), {"V": 128256, "D": 4096}),
        Curve("context", "R", (8192, 32768, 131072, 524288, 1048576), {"V": 32000, "D": 256}),
    ),
)
PRODUCT = Plan(
    {"R": (1, 7, 64, 512, 4096), "K": (64, 129, 1024, 4096), "N": (64, 129, 1024, 11008)},
    (
        Curve("production", "R", (1, 16, 128, 512, 2048, 4096, 8192), {"K": 4096, "N": 4096}),
        Curve("production", "N", (128, 1024, 4096, 11008, 28672), {"R": 2048, "K": 4096}),
        Curve("production", "K", (128, 1024, 4096, 11008, 28672), {"R": 2048, "N": 4096}),
        Curve("context", "R", (8192, 32768, 131072, 524288), {"K": 256, "N": 256}),
    ),
)
ATTENTION = Plan(
    {"B": (1, 3), "H": (8, 32), "T": (1, 127, 512, 2048), "K": (64, 128), "G": (4, 8)},
    (
        Curve("production", "T", (128, 512, 1024, 2048, 4096, 8192, 16384, 32768), {"B": 1, "H": 32, "K": 128, "G": 8}),
        Curve("context", "T", (8192, 32768, 131072), {"B": 1, "H": 1, "K": 64, "G": 1}),
    ),
)
PACKED = Plan(
    {"N": (1, 127, 1024, 4096), "H": (8, 32), "K": (64, 128), "G": (4, 8), "E": (2, 9, 33)},
    (Curve("production", "N", (512, 2048, 8192, 32768), {"H": 32, "K": 128, "G": 8, "E": 17}),),
)
PAGED = Plan(
    {"B": (1, 7, 64), "H": (8, 32), "K": (64, 128), "P": (16, 1024), "L": (16, 64), "G": (4, 8), "M": (1, 8, 64)},
    (
        Curve("production", "B", (1, 8, 32, 128, 256), {"H": 32, "K": 128, "P": 4096, "L": 16, "G": 8, "M": 128}),
        Curve("context", "M", (128, 512, 2048, 8192), {"B": 1, "H": 32, "K": 128, "P": 8192, "L": 16, "G": 8}),
    ),
)
CHANNELS = Plan(
    {"B": (1, 3, 16), "C": (32, 320, 1280), "S": (1, 49, 256, 4096)},
    (
        Curve("production", "S", (256, 1024, 4096, 16384), {"B": 8, "C": 320}),
        Curve("context", "S", (16384, 65536, 262144, 1048576), {"B": 1, "C": 32}),
    ),
)
ROUTER = Plan(
    {"R": ROW_COUNTS, "E": (8, 64, 129, 256)},
    (Curve("production", "R", (1, 64, 512, 2048, 8192, 32768), {"E": 128}), Curve("context", "R", (131072, 1048576), {"E": 8})),
)
EXPERTS = Plan(
    {"N": (1, 7, 64, 512, 4096), "D": (64, 129, 1024, 4096), "A": (1, 2, 8)},
    (
        Curve("production", "N", (16, 128, 512, 2048, 8192, 16384), {"D": 4096, "A": 2}),
        Curve("context", "N", (32768, 131072, 524288), {"D": 256, "A": 2}),
    ),
)
GROUPS = Plan(
    {"M": (1, 64, 513, 4096), "K": (64, 129, 1024), "E": (1, 8, 32), "N": (64, 129, 1024)},
    (Curve("production", "M", (128, 1024, 4096, 16384), {"K": 2048, "E": 8, "N": 2048}),),
)
CONVOLUTION = Plan(
    {"B": (1, 3, 8), "D": (64, 129, 1536, 4096), "T": (1, 127, 1024, 4096), "W": (2, 4)},
    (
        Curve("production", "T", (128, 512, 2048, 8192, 32768), {"B": 1, "D": 4096, "W": 4}),
        Curve("context", "T", (32768, 131072, 524288, 1048576), {"B": 1, "D": 64, "W": 4}),
    ),
)
TURNED = Plan(
    {"B": (1, 3), "H": (8, 32), "T": (1, 127, 512, 2048), "K": (64, 128)},
    (
        Curve("production", "T", (128, 512, 2048, 8192, 32768), {"B": 1, "H": 32, "K": 128}),
        Curve("context", "T", (32768, 131072, 524288, 1048576), {"B": 1, "H": 1, "K": 64}),
    ),
)
LINEAR = Plan(
    {"B": (1, 3), "H": (4, 16), "T": (1, 127, 512, 2048), "K": (64, 128), "J": (64, 128)},
    (Curve("production", "T", (128, 512, 2048, 8192, 32768), {"B": 1, "H": 16, "K": 128, "J": 128}),),
)
RECURRENT = Plan(
    {"B": (1, 3), "H": (4, 16), "T": (1, 17, 128), "K": (64, 128), "J": (64, 128)},
    (Curve("production", "T", (32, 64, 128, 256, 512), {"B": 1, "H": 16, "K": 128, "J": 128}),),
)
"""Short: the reference takes one step after the other."""


def general(dims: Sequence[str]) -> Plan:
    """A plan for an op that declares none: a pool of all-purpose sizes, and a production curve of each."""
    pool = (1, 7, 64, 129, 1024, 4096)
    curves = tuple(Curve("production", axis, (64, 256, 1024, 4096, 8192), {d: 1024 for d in dims if d != axis}) for axis in dims)
    return Plan({name: pool for name in dims}, curves)


def pairwise(pools: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows in which every pair of values of two axes stands together at least once. Deterministic; greedy, so near the fewest, not the fewest."""
    axes = list(pools)
    if len(axes) < 2:
        return [{axis: value} for axis in axes for value in pools[axis]]
    open_pairs: dict[tuple[str, Any, str, Any], None] = {
        (a, x, b, y): None for a, b in itertools.combinations(axes, 2) for x in pools[a] for y in pools[b]
    }
    rows = []
    while open_pairs:
        a, x, b, y = next(iter(open_pairs))
        row: dict[str, Any] = {a: x, b: y}
        for axis in axes:
            if axis not in row:
                row[axis] = max(pools[axis], key=lambda value: _newly_met(row, axis, value, axes, open_pairs))
        ordered = {axis: row[axis] for axis in axes}
        for one, other in itertools.combinations(axes, 2):
            open_pairs.pop((one, ordered[one], other, ordered[other]), None)
        rows.append(ordered)
    return rows


def _newly_met(row: Mapping[str, Any], axis: str, value: Any, axes: Sequence[str], open_pairs: Mapping[Any, None]) -> int:
    place = axes.index(axis)
    return sum(
        ((other, row[other], axis, value) if axes.index(other) < place else (axis, value, other, row[other])) in open_pairs for other in row
    )


def plan_cases(
    plan: Plan,
    bytes_of: Callable[[Dims, int], float],
    precisions: Sequence[Precision] = ("float32", "bfloat16"),
    gradients: Sequence[GradientMode] = ("none", "grad"),
    scalars: Mapping[str, Any] | None = None,
    memory_bytes: int | None = None,
    curves_only: bool = False,
) -> list[Planned]:
    """Every case of a plan, smaller first, without repeats. Cases whose inputs, outputs and float64 copies do not fit are left out.

    bytes_of: least bytes at some sizes and an element's size, which is about what one set of inputs and outputs occupies.
    """
    cases: dict[str, Planned] = {}

    def add(case: Case, stratum: Stratum) -> None:
        cost = bytes_of(case.dims, itemsize(case.precision))
        if memory_bytes is None or resident_bytes(bytes_of(case.dims, 8), case.gradient) <= memory_bytes:
            cases.setdefault(case.id, Planned(case, stratum, cost * (3 if case.gradient == "grad" else 1)))

    for curve in plan.curves:
        for value, precision, gradient in itertools.product(curve.values, precisions, gradients):
            dims = {name: value if name == curve.axis else curve.fixed[name] for name in plan.pools}
            add(Case(dims=dims, precision=precision, gradient=gradient, scalars=dict(scalars or {})), curve.stratum)
    if not curves_only:
        axes = {**plan.pools, "precision": precisions, "layout": plan.layouts, "gradient": gradients}
        for row in pairwise(axes):
            dims = {name: row.pop(name) for name in plan.pools}
            add(Case(dims=dims, scalars=dict(scalars or {}), **row), "coverage")
    return sorted(cases.values(), key=lambda one: (one.cost, one.case.id))


def itemsize(precision: str) -> int:
    """Bytes of an element."""
    return {"float64": 8, "float16": 2, "bfloat16": 2}.get(precision, 4)


def resident_bytes(wide_bytes: float, gradient: str) -> float:
    """What judging a case keeps at once, from the bytes of one set in float64: the truth, a moved truth, the reference, two results, and
    intermediates of the same order; with gradients, about twice."""
    return wide_bytes * (12 if gradient == "grad" else 6)


@dataclass
class Frontier:
    """What ran out of memory or time, and so what is not worth trying: larger or equal in every size, same gradient mode and stratum."""

    met: list[tuple[str, Planned]] = field(default_factory=list)

    def add(self, who: str, planned: Planned) -> None:
        """`who` (an implementation, or `torch` for all) ended here."""
        self.met.append((who, planned))

    def beyond(self, who: str, planned: Planned) -> bool:
        """True when a case as small as this, or smaller in every size, has failed already for this implementation or the reference."""
        return any(name in (who, "torch") and _covers(edge, planned) for name, edge in self.met)


def _covers(edge: Planned, planned: Planned) -> bool:
    a, b = edge.case, planned.case
    same = edge.stratum == planned.stratum and (a.gradient, a.precision, a.layout) == (b.gradient, b.precision, b.layout)
    return same and a.dims.keys() == b.dims.keys() and all(b.dims[name] >= size for name, size in a.dims.items())


def distance(a: Dims, b: Dims) -> float:
    """How far apart two sets of sizes are, in doublings: the length of the vector of log2 ratios. Infinite for other names."""
    if a.keys() != b.keys():
        return math.inf
    return math.sqrt(sum(math.log2(max(a[name], 1) / max(b[name], 1)) ** 2 for name in a))


def sample(cases: Iterable[Planned], limit: int | None) -> list[Planned]:
    """`limit` of the cases, the same ones every time, still smaller first: every n-th, so that all magnitudes stay."""
    all_cases = list(cases)
    if limit is None or limit >= len(all_cases):
        return all_cases
    return [all_cases[(2 * i + 1) * len(all_cases) // (2 * limit)] for i in range(limit)]
