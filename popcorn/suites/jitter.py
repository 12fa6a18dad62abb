"""Dim: a size that knows its range, and the draw of sizes from a seed. Free of torch, the same on every machine."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from popcorn.errors import BadProblem

Size = Literal["full", "cpu"]
Mode = Literal["band", "awkward", "wide"]

SPREAD = 0.15
"""Default half-width of a size's range, as a share of the size."""
BAND = 0.10
"""Half-width of the common draw; six draws in ten stay this near to the nominal size."""
MOST_CHOICES = 32
"""A choice among more is shown by its ends alone."""
ATTEMPTS = 200
"""Draws that may break a problem's own `valid` before the nominal sizes are taken."""


class Dim(int):
    """A size in elements: an int that also holds the range from which trials draw.

    low, high:  smallest and largest size a trial may use; default ±15 %, rounded inwards to `align`.
    align:      every drawn size is a multiple of it.
    cpu:        the nominal size on a machine without GPU; its range keeps the proportions of low and high.
    among:      the only values there are (numbers of heads, of a setting); on a machine without GPU those up to `cpu`.
    fixed:      always the nominal size (weights' head size, kernel width, …).
    Raises BadProblem when the numbers contradict each other.
    """

    low: int
    high: int
    align: int
    fixed: bool
    cpu: int
    among: tuple[int, ...]

    def __new__(
        cls, size: int, *, low: int | None = None, high: int | None = None, align: int = 1, cpu: int | None = None, fixed: bool = False,
        among: Sequence[int] = (),
    ) -> "Dim":  # fmt: skip
        if among and (fixed or low is not None or high is not None or align != 1):
            raise BadProblem(f"Dim({int(size)}, among={tuple(among)}) needs no range; drop `fixed`, `low`, `high` and `align`")
        if among:
            low, high = min(among), max(among)
        if fixed and (low is not None or high is not None):
            raise BadProblem(f"Dim({int(size)}) is fixed and has a range; expected one or the other, so drop `fixed` or `low` and `high`")
        if size < 1 or align < 1:
            raise BadProblem(f"Dim({int(size)}, align={align}): expected size and align of at least 1")
        dim = super().__new__(cls, size)
        dim.align, dim.fixed, dim.among = align, fixed, tuple(sorted(set(among)))
        dim.low = size if fixed else _up(size * (1 - SPREAD), align) if low is None else _up(low, align)
        dim.high = size if fixed else _down(size * (1 + SPREAD), align) if high is None else _down(high, align)
        dim.cpu = int(size) if cpu is None else cpu
        dim._check()
        return dim

    def _check(self) -> None:
        if self.low < 1:
            raise BadProblem(f"Dim({int(self)}, low={self.low}): expected low of at least 1")
        if not self.low <= self <= self.high:
            raise BadProblem(f"Dim({int(self)}) lies outside its own range [{self.low}, {self.high}]; widen low or high")
        if self % self.align or self.cpu % self.align or self.cpu < 1:
            raise BadProblem(
                f"Dim({int(self)}, cpu={self.cpu}) is not a multiple of align={self.align}; choose sizes that are, for both machines"
            )

        if self.among and not {int(self), self.cpu} <= set(self.among):
            raise BadProblem(f"Dim({int(self)}, cpu={self.cpu}) is none of {self.among}; choose sizes that are, for both machines")

    def at(self, size: Size) -> "Dim":
        """This dimension as it is for a machine with a GPU (`full`) or without one (`cpu`): the same proportions, another size."""
        if self.among and size == "cpu":
            return Dim(self.cpu, among=[one for one in self.among if one <= self.cpu])
        if size == "full" or self.cpu == int(self):
            return self
        if self.fixed:
            return Dim(self.cpu, align=self.align, fixed=True)
        low = min(self.cpu, max(self.align, _up(self.low / self * self.cpu, self.align)))
        high = max(self.cpu, _down(self.high / self * self.cpu, self.align))
        # a coarse step must not round an end of the range onto the size itself, which it would tell
        if self.cpu > self.align:
            low = self.cpu - self.align if low == self.cpu and self.low < self else low
            high = self.cpu + self.align if high == self.cpu and self.high > self else high
        return Dim(self.cpu, low=low, high=high, align=self.align)

    def parts(self) -> tuple[int, int, int, int, int, bool, tuple[int, ...]]:
        """All that it holds, for `restore`."""
        return int(self), self.low, self.high, self.align, self.cpu, self.fixed, self.among

    def __reduce__(self) -> tuple[Callable[..., "Dim"], tuple[int, int, int, int, int, bool, tuple[int, ...]]]:
        return restore, self.parts()

    def __repr__(self) -> str:
        if self.fixed:
            return f"Dim({int(self)}, fixed=True, cpu={self.cpu})"
        if self.among:
            return f"Dim({int(self)}, among={self.among}, cpu={self.cpu})"
        return f"Dim({int(self)}, low={self.low}, high={self.high}, align={self.align}, cpu={self.cpu})"

    __str__ = int.__repr__
    """A plain number inside messages and f-strings."""


def restore(size: int, low: int, high: int, align: int, cpu: int, fixed: bool, among: Sequence[int]) -> Dim:
    """The dimension of these parts. Raises BadProblem when they contradict each other."""
    if among:
        return Dim(size, among=among, cpu=cpu)
    return Dim(size, align=align, cpu=cpu, fixed=True) if fixed else Dim(size, low=low, high=high, align=align, cpu=cpu)


def draw_dims(dims: Mapping[str, Dim], seed: int | str, jitter: bool, valid: Callable[..., bool] | None = None) -> dict[str, int]:
    """Sizes for one trial: nominal ones without jitter, else drawn from the seed, each inside [low, high] and a multiple of align.

    Six in ten lie within ±10 % of nominal, three in ten are awkward (one or three steps away, primes), one in ten is anywhere in the range.
    `valid(**dims)` may refuse a combination; the next one is drawn then, the nominal one after 200 refusals. Raises BadProblem when
    even the nominal sizes are refused.
    """
    nominal = {name: int(dim) for name, dim in dims.items()}
    if valid is not None and not valid(**nominal):
        raise BadProblem(f"the nominal sizes {nominal} are refused by the problem's own `valid`; make them agree")
    if not jitter:
        return nominal
    for attempt in range(ATTEMPTS):
        drawn = {name: _draw(dim, f"{seed}/{name}/{attempt}") for name, dim in dims.items()}
        if valid is None or valid(**drawn):
            return drawn
    return nominal


def _draw(dim: Dim, seed: str) -> int:
    if dim.fixed or dim.low == dim.high:
        return int(dim)
    if dim.among:
        return dim.among[_uniform(f"{seed}/among", 0, len(dim.among) - 1)]
    roll = _uniform(f"{seed}/mode", 0, 99)
    mode: Mode = "band" if roll < 60 else "awkward" if roll < 90 else "wide"
    if mode == "awkward":
        sizes = awkward_sizes(dim)
        if sizes:
            return sizes[_uniform(f"{seed}/awkward", 0, len(sizes) - 1)]
    low, high = dim.low, dim.high
    if mode != "wide":
        low, high = max(low, round(dim * (1 - BAND))), min(high, round(dim * (1 + BAND)))
    first, last = -(-low // dim.align), high // dim.align
    return int(dim) if first > last else _uniform(f"{seed}/size", first, last) * dim.align


def awkward_sizes(dim: Dim) -> list[int]:
    """Sizes of the range that tile badly: one and three steps of align beside nominal, and the nearest primes when align is 1."""
    near = [dim + step * dim.align for step in (-3, -1, 1, 3)]
    if dim.align == 1:
        near += [_prime(int(dim), step) for step in (-1, 1)]
    return sorted({int(size) for size in near if dim.low <= size <= dim.high and size != dim})


def _prime(start: int, step: int) -> int:
    """The nearest prime below (step −1) or above (step 1) start; 0 where there is none."""
    number = start + step
    while number > 1:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            return number
        number += step
    return 0


def _uniform(seed: str, low: int, high: int) -> int:
    """An integer of [low, high] from a text seed. 128 bits, so the remainder's bias is below 1e-20; no library's generator to change."""
    return low + int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16]) % (high - low + 1)


def _up(value: float, align: int) -> int:
    return int(-(-value // align)) * align


def _down(value: float, align: int) -> int:
    return int(value // align) * align


def corners(dims: Mapping[str, Dim]) -> dict[str, dict[str, int]]:
    """The ends of the ranges by name, apart from the sizes that are timed: `smallest`, `largest`, and `odd`, a step off in every size that moves.

    Where the one size that moves is a choice among few (the settings of a task, a definition's workloads), every choice: `setting 1`, ….
    """
    timed = {name: int(dim) for name, dim in dims.items()}
    moving = [name for name, dim in dims.items() if dim.among or dim.low != dim.high]
    if len(moving) == 1 and 0 < len(dims[moving[0]].among or ()) <= MOST_CHOICES:
        made = {f"setting {choice}": {**timed, moving[0]: choice} for choice in dims[moving[0]].among or ()}
    else:
        made = {
            "smallest": {name: dim.low for name, dim in dims.items()},
            "largest": {name: dim.high for name, dim in dims.items()},
            "odd": {name: max(dim.low, dim - dim.align) if not dim.among else dim.low for name, dim in dims.items()},
        }
    kept: dict[tuple[int, ...], str] = {tuple(timed.values()): "timed"}
    for name, sizes in made.items():
        kept.setdefault(tuple(sizes.values()), name)
    return {name: made[name] for name in kept.values() if name != "timed"}
