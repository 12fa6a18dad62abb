"""How rows are cut into tiles for GPU programs. Needs torch; knows no kernel.

A program holds a tile of `rows` x `block` elements in registers, 16 a thread where the row allows it: two loads of 16 bytes a tensor in
half precision, four in float32. So many programs fit on a multiprocessor that the loads of some hide the arithmetic of others.
"""

import functools
from typing import NamedTuple

import torch
from torch import Tensor

PER_THREAD = 16
LEAST = 4096
"""Elements of a tile of short rows."""
WIDEST = 32768
"""Longest row held in registers: 32 elements a thread of the largest program."""


class Tile(NamedTuple):
    """What one program holds."""

    rows: int
    block: int
    warps: int


@functools.lru_cache(4096)
def power_of_two(number: int) -> int:
    """The next one at or above."""
    return 1 << max(number - 1, 0).bit_length()


@functools.lru_cache(4096)
def tile_of(width: int, least: int = LEAST) -> Tile:
    """Whole rows of `width` elements, several of them when they are short."""
    block = max(16, power_of_two(width))
    rows = max(1, least // block)
    return Tile(rows, block, min(32, max(4, rows * block // (32 * PER_THREAD))))


@functools.lru_cache(64)
def processors(device: int) -> int:
    """Multiprocessors of a GPU; 2 where there is none, in Triton's interpreter."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device >= 0 else 2


class Patch(NamedTuple):
    """Work that is done element by element on rows, a sum of each row at hand: any length runs at the speed of a copy."""

    programs: int
    rows: int
    block: int
    """Elements of a row that a program has."""


@functools.lru_cache(4096)
def patch_of(rows: int, width: int) -> Patch:
    """Parts of rows, or several where they are short."""
    block = min(SPAN_BLOCK, max(16, power_of_two(width)))
    high = SPAN_BLOCK // block
    return Patch(-(-rows // high) * -(-width // block), high, block)


class Stay(NamedTuple):
    """Programs that stay and go over tiles, the next tiles on their way while one is worked on."""

    rows: int
    block: int
    stages: int
    warps: int
    programs: int


STAGES = 3
"""Two tiles on their way and one in work."""


@functools.lru_cache(64)
def shared_bytes(device: int) -> int:
    """Memory that a multiprocessor's programs share; one program may have nearly all of it."""
    if device < 0:
        return 0
    return int(getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 96 << 10))


WEIGHT_HELD = 8192
"""Longest row beside which its weight stays in registers; beside a longer one it is read again for each row."""


@functools.lru_cache(4096)
def stay_of(rows: int, width: int, tensors: int, itemsize: int, device: int, least: int = LEAST, warps: int = 16) -> Stay:
    """Programs of whole rows of so many tensors, `warps` warps on a multiprocessor: each thread may have 65,536 / 32 / warps registers.

    Tiles on their way stand in shared memory: as many stages as have room there.
    """
    tile = tile_of(width, least)
    many = min(tile.warps, warps) if tile.block <= 2 * 32 * PER_THREAD * warps else tile.warps
    together = max(1, warps // many)
    stage = (tensors + (tile.block > WEIGHT_HELD)) * tile.rows * tile.block * itemsize
    room = shared_bytes(device) // together - 4096  # what reductions and the runtime need
    stages = max(1, min(STAGES, 1 + room // stage))
    return Stay(tile.rows, tile.block, stages, many, min(-(-rows // tile.rows), processors(device) * together))


def fresh(like: Tensor) -> Tensor:
    """Room for an answer of this shape and element type, contiguous; where the tensor is so too, by a third of what torch.empty costs."""
    return torch.empty_like(like) if like.is_contiguous() else torch.empty(like.shape, dtype=like.dtype, device=like.device)


def as_rows(tensor: Tensor, width: int) -> tuple[Tensor, int]:
    """The tensor as rows whose elements lie side by side, and the step from row to row; copied only where its layout is another."""
    if tensor.is_contiguous():
        return tensor, width
    flat = tensor.reshape(-1, width)
    if width > 1 and flat.stride(1) != 1:
        flat = flat.contiguous()
    return flat, flat.stride(0)


def as_spans(tensors: tuple[Tensor, ...], width: int) -> tuple[list[Tensor], list[int], int, int]:
    """For element-wise work: tensors, their steps, number of spans and a span's length. All contiguous: one span of everything."""
    if all(tensor.is_contiguous() for tensor in tensors):
        return list(tensors), [0] * len(tensors), 1, tensors[0].numel()
    pairs = [as_rows(tensor, width) for tensor in tensors]
    return [t for t, _ in pairs], [step for _, step in pairs], tensors[0].numel() // width, width


SPAN_BLOCK = 2048
"""Elements of a step along a span: 16 a thread of four warps."""


def block_of(width: int) -> int:
    """Elements that a program takes of a span."""
    return min(SPAN_BLOCK, max(16, power_of_two(width)))
