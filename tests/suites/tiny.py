"""Problems at sizes so small that a sample runs in seconds, and which problems are in today's sample."""

import functools
import os

from popcorn.suites.jitter import Dim, Size, draw_dims
from popcorn.suites.loading import Loaded, load
from popcorn.suites.problems import facts, find_problem, list_problems

SHIPPED = [problem.id for problem in list_problems()]
ALL = [one for one in SHIPPED if facts(find_problem(one)).ranks is None]
"""Those that run in one process."""
SHARE = int(os.environ.get("POPCORN_TEST_SHARE", "25"))
"""Every how many problems one is examined closely; 1 for all of them."""
SAMPLE = ALL[0 % SHARE :: SHARE]
"""The same ones every day; `POPCORN_TEST_SHARE=1` is for who changes many problems."""
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
