"""Problems at sizes so small that the whole suite runs in seconds."""

import functools

from popcorn.suites.jitter import Dim, Size, draw_dims
from popcorn.suites.loading import Loaded, load
from popcorn.suites.problems import find_problem, list_problems

ALL = [problem.id for problem in list_problems()]
SHRINK = 4
SMALLEST = 16


@functools.cache
def loaded(problem_id: str, size: Size = "cpu") -> Loaded:
    return load(find_problem(problem_id), size)


def tiny(problem_id: str, seed: int) -> dict[str, int]:
    """Jittered sizes from the cpu ranges, the large ones divided by SHRINK; odd sizes stay odd as often as before."""
    one = loaded(problem_id)
    small = {name: dim if dim.fixed or dim < SMALLEST * SHRINK else _shrunk(dim) for name, dim in one.dims.items()}
    return draw_dims(small, seed, True, one.valid)


def _shrunk(dim: Dim) -> Dim:
    return Dim(max(dim.align, dim // SHRINK // dim.align * dim.align), align=dim.align)
