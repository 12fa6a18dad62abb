"""Mean over rows of a sum that is taken element by element over two tensors of one shape, and its slopes. Needs torch and triton."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from popcorn.ops.launching import Launcher
from popcorn.ops.sums import mean_of
from popcorn.ops.tiles import as_spans, block_of, fresh, processors

WARPS = 4
FEW = 8192
"""Elements that one program goes over sooner than two kernels are launched."""


def mean_over(
    launch: Launcher,
    tensors: tuple[Tensor, ...],
    numbers: tuple[float, ...] = (),
    constants: tuple[Any, ...] = (),
    together: int = 32 // WARPS,
) -> Tensor:
    """The scalar, in the tensors' element type, by `together` programs on a multiprocessor.

    The kernel's parameters: both tensors, sums; spans, width, both steps, `numbers`, rows; `constants`, whether it is alone, block. A program
    writes its sum; one that is alone the mean.
    """
    first = tensors[0]
    given, steps, spans, width = as_spans(tensors, first.shape[-1])
    block, rows = block_of(width), first.numel() // first.shape[-1]
    parts = spans * -(-width // block)
    alone = parts * block <= FEW
    programs = 1 if alone else min(parts, processors(first.get_device()) * together)
    sums = first.new_empty(()) if alone else torch.empty((programs,), dtype=torch.float32, device=first.device)
    launch(programs, (*given, sums), (spans, width, *steps, *numbers, float(rows)), (*constants, alone, block), WARPS)
    return sums if alone else mean_of(sums, first.dtype, programs, rows)


def slopes_over(
    launch: Launcher,
    tensors: tuple[Tensor, ...],
    dloss: Tensor,
    needed: Sequence[bool],
    numbers: tuple[float, ...] = (),
    constants: tuple[Any, ...] = (),
) -> list[Tensor | None]:
    """The slopes that are needed, each in memory of its own.

    The kernel's parameters: both tensors, dloss, both slopes; spans, width, both steps, `numbers`, rows; `constants`, which slopes, block.
    """
    first = tensors[0]
    made = [fresh(one) if wanted else None for one, wanted in zip(tensors, needed, strict=True)]
    given, steps, spans, width = as_spans(tensors, first.shape[-1])
    block = block_of(width)
    any_made = next(one for one in made if one is not None)
    all_tensors = (*given, dloss, *[any_made if one is None else one for one in made])
    rows = float(first.numel() // first.shape[-1])
    which = (bool(needed[0]), bool(needed[1]))
    launch(spans * -(-width // block), all_tensors, (spans, width, *steps, *numbers, rows), (*constants, *which, block), WARPS)
    return made
