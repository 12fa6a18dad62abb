"""Behaviour of a kernel: memory × compute × parallelism, 0 to 3 each, read from its parse tree. Comments, strings and names never count.

| level | memory | compute | parallelism |
|---|---|---|---|
| 0 | plain loads, one after the other | a pass for each step | one thread's work, serial |
| 1 | vectors: wide loads, SIMD, block loads | fused: at most two passes | SIMD on a CPU; barriers in a block on a GPU |
| 2 | blocked: tiles, shared memory | independent partial results, reductions | threads on a CPU; warp-level on a GPU |
| 3 | blocked and staged: packing, prefetch, async copies | register tiles, matrix units | both: threads of vectors; barriers and warps, clusters, grids |

Counters decide where a record has them (`counted`): what ran is surer than what is written. Not every cell can be reached in every language; `reachable` says which, and
coverage is a share of those alone.
"""

import itertools

from popcorn.schema.measurement import Counters
from popcorn.search import native_behaviour, python_behaviour
from popcorn.search.program import Cell
from popcorn.toolchain.languages import is_python

WIDE_SECTORS = 7.5
"""Sectors of a load request above which its loads are wider than 4 bytes: between the 4 of 4-byte and the 8 of 8-byte ones."""

AXES = ("memory", "compute", "parallelism")

_LEVELS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "torch": ((0, 1), (0, 1, 3), (0,)),
    "triton": ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
}


def describe(source: str, language: str) -> Cell:
    """The cell of a text. Never raises: a text that does not parse is described by what could be read."""
    if language in ("c", "sycl") or not is_python("kernel", source):
        return native_behaviour.describe(source, gpu=language in ("cuda", "sycl"))
    return python_behaviour.describe(source)


def counted(cell: Cell, counters: Counters) -> Cell:
    """The cell of a text, corrected by what hardware counters saw of its longest kernel; the same where there are none.

    Memory: bytes of shared memory of a block decide between 2 and less; 16-byte loads show as more than 7.5 sectors a request (4 is one
    coalesced 4-byte load of a warp, 16 a 16-byte one: Nsight Compute's guide, "Memory tables"). Compute: a tensor pipe that worked is 3.
    Parallelism: stalls at barriers are threads of a block that wait for each other. Staging, partial results and warp-level work leave no
    count of their own: there the text is believed.
    """
    if not counters.kernels:
        return cell
    longest = counters.kernels[0]
    memory, compute, parallelism = cell
    if longest.shared_bytes_per_block is not None:
        if longest.shared_bytes_per_block > 0:
            memory = max(memory, 2)
        elif longest.load_sectors_per_request is not None:
            memory = 1 if longest.load_sectors_per_request > WIDE_SECTORS else 0
        else:
            memory = min(memory, 1)
    if longest.flop_per_s.get("tensor", 0.0) > 0 or (longest.dominant_pipe or "").startswith("tensor"):
        compute = 3
    if longest.stalls.get("barrier", 0.0) > 0:
        parallelism = {0: 1, 2: 3}.get(parallelism, parallelism)
    return memory, compute, parallelism


def reachable(language: str) -> frozenset[Cell]:
    """Cells that a kernel of this language can have."""
    levels = _LEVELS.get(language, ((0, 1, 2, 3),) * 3)
    return frozenset(itertools.product(*levels))
