"""Behaviour of a kernel: memory × compute × parallelism, 0 to 3 each, read from its parse tree. Comments, strings and names never count.

| level | memory | compute | parallelism |
|---|---|---|---|
| 0 | plain loads, one after the other | a pass for each step | one thread's work, serial |
| 1 | vectors: wide loads, SIMD, block loads | fused: at most two passes | SIMD on a CPU; barriers in a block on a GPU |
| 2 | blocked: tiles, shared memory | independent partial results, reductions | threads on a CPU; warp-level on a GPU |
| 3 | blocked and staged: packing, prefetch, async copies | register tiles, matrix units | both: threads of vectors; barriers and warps, clusters, grids |

Counters decide where a judge gives a cell (`Judged.cell`). Not every cell can be reached in every language; `reachable` says which, and
coverage is a share of those alone.
"""

import itertools

from popcorn.search import native_behaviour, python_behaviour
from popcorn.search.program import Cell
from popcorn.toolchain.languages import is_python

AXES = ("memory", "compute", "parallelism")

_LEVELS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "torch": ((0, 1), (0, 1, 3), (0,)),
    "triton": ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
}


def describe(source: str, language: str) -> Cell:
    """The cell of a text. Never raises: a text that does not parse is described by what could be read."""
    if language == "c" or not is_python("kernel", source):
        return native_behaviour.describe(source, gpu=language == "cuda")
    return python_behaviour.describe(source)


def reachable(language: str) -> frozenset[Cell]:
    """Cells that a kernel of this language can have."""
    levels = _LEVELS.get(language, ((0, 1, 2, 3),) * 3)
    return frozenset(itertools.product(*levels))
