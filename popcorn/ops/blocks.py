"""Tensors as TMA reads them, in blocks, and launches of kernels that take such. Needs torch and triton.

Triton makes a map of each such tensor anew in every launch, which costs as much as the launch. A map depends on nothing but address, sizes, steps,
element type and block, so here it is kept by these: what else lies at that address by then makes no difference to it.
"""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from popcorn.ops.borrowed import ALIGNED, aligned
from popcorn.ops.launching import _current, _stream, _watched, _way_of

Block = tuple[Tensor, tuple[int, ...]]
"""A tensor, and the sizes of the blocks that it is read in."""

_MOST = 1024


@functools.lru_cache(4096)
def _fits(shape: torch.Size, steps: tuple[int, ...], itemsize: int) -> bool:
    multiple = ALIGNED // itemsize
    outer = [step for size, step in zip(shape[:-1], steps, strict=False) if size > 1]
    return steps[-1] == 1 and all(step % multiple == 0 and step >= shape[-1] for step in outer)


def reachable(t: Tensor) -> Tensor:
    """As TMA reads it, last size dense: copied only where steps or address are no multiples of 16 bytes, or rows overlap."""
    return t if t.data_ptr() % ALIGNED == 0 and _fits(t.shape, t.stride(), t.element_size()) else aligned(t)


def described(t: Tensor, block: Sequence[int]) -> TensorDescriptor:
    """For TMA, in blocks; the step of a size of one, which may be anything, is made one that TMA takes."""
    steps = [t.shape[-1] if size == 1 else step for size, step in zip(t.shape[:-1], t.stride(), strict=False)]
    return TensorDescriptor(t, list(t.shape), [*steps, 1], list(block))


def _known(made: Any) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    """(launcher in C, what it takes first, what Triton knows of each block's map); None where Triton is another than the one known here."""
    launch, before = _way_of(made)
    free = getattr(getattr(launch, "__code__", None), "co_freevars", ())
    if "launcher" not in free:
        return None
    bare = launch.__closure__[free.index("launcher")].cell_contents
    about = getattr(made.metadata, "tensordesc_meta", None)
    return (bare, before, list(about)) if about and all(about) else None


class BlockLauncher:
    """One Triton kernel whose parameters are tensors in blocks, then tensors, then numbers, then constants."""

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self._compiled: dict[Any, Any] = {}

    def __call__(
        self,
        programs: int,
        blocks: Sequence[Block],
        tensors: tuple[Tensor, ...],
        numbers: tuple[float, ...],
        constants: tuple[Any, ...],
        warps: int,
        stages: int,
    ) -> None:
        """Launch `programs` programs of `warps` warps, `stages` steps of a loop on their way, on the current stream of the tensors' device."""
        device = blocks[0][0].get_device()
        if device >= 0 and device != _current():  # type: ignore[misc]
            with torch.cuda.device(device):
                return self(programs, blocks, tensors, numbers, constants, warps, stages)
        addresses = [tensor.data_ptr() for tensor in tensors]
        low_bits = 0
        for address in addresses:
            low_bits |= address
        key = (device, warps, stages, numbers, constants, *[(t.dtype, block) for t, block in blocks], *[t.dtype for t in tensors])
        found = self._compiled.get(key)
        if found is None or low_bits & 15 or _watched():
            self._first(key, programs, blocks, tensors, numbers, constants, warps, stages, low_bits & 15 == 0)
            return None
        launch, before, about, maps, after = found
        given: list[Any] = []
        for (tensor, block), one, kept in zip(blocks, about, maps, strict=True):
            at = (tensor.data_ptr(), tensor.shape, tensor.stride())
            map_ = kept.get(at)
            if map_ is None:
                map_ = _make(tensor, block, one, kept, at)
            given += map_
        launch(programs, 1, 1, _stream(device), *before, *given, *addresses, *after)  # type: ignore[misc]
        return None

    def _first(
        self,
        key: Any,
        programs: int,
        blocks: Sequence[Block],
        tensors: Any,
        numbers: Any,
        constants: Any,
        warps: int,
        stages: int,
        keep: bool,
    ) -> None:
        descriptors = [described(tensor, block) for tensor, block in blocks]
        made = self.kernel[(programs,)](*descriptors, *tensors, *numbers, *constants, num_warps=warps, num_stages=stages)
        known = _known(made) if keep and made is not None else None  # the interpreter returns nothing
        if known is not None:
            if len(self._compiled) >= _MOST:
                self._compiled.clear()
            launch, before, about = known
            self._compiled[key] = (launch, before, about, [{} for _ in blocks], (*numbers, *constants))


def _make(tensor: Tensor, block: tuple[int, ...], about: Any, kept: dict[Any, list[Any]], at: Any) -> list[Any]:
    from triton.backends.nvidia.driver import make_tensordesc_arg

    if len(kept) >= _MOST:
        kept.clear()
    made: list[Any] = make_tensordesc_arg(described(tensor, block), about)
    kept[at] = made
    return made
