"""Launches of Triton kernels without the JIT's binder, which costs more than many kernels take. Needs torch and triton.

The first launch of a class of arguments goes through Triton, which compiles or finds the kernel. Later ones of the same class take the
compiled kernel from a dictionary and hand it addresses. A class is everything that Triton specialises on: element types, numbers,
constants, the device; arguments whose addresses are not multiples of 16 bytes go through Triton every time.
"""

from typing import Any

import torch
import triton
from torch import Tensor
from triton import knobs

_MOST = 4096
_KNOWN = triton.__version__.startswith("3.6.")
"""Whether the launcher in C takes its arguments in the order that is known here: another order would be no error, but other arguments."""
_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_current = getattr(torch._C, "_cuda_getDevice", None)


def _watched() -> bool:
    """Whether a profiler asked Triton to be told of launches."""
    hook: Any = knobs.runtime.launch_enter_hook
    return bool(getattr(hook, "calls", hook))


def _way_of(made: Any) -> tuple[Any, tuple[Any, ...]]:
    """(function, what it takes between the stream and a compiled kernel's arguments): Triton's launcher in C, where it is as Triton 3.6 has it
    and the kernel asks for no scratch memory; else the one in Python about it."""
    run, hooks = made.run, (made.packed_metadata, None, None, None)
    try:
        bare = not (run.global_scratch_size or run.profile_scratch_size)
        before = (made.function, run.launch_cooperative_grid, run.launch_pdl, None, None, *hooks)
        if _KNOWN and bare and callable(run.launch):
            return run.launch, before
    except AttributeError:
        pass  # another version of Triton
    return run, (made.function, *hooks)


class Launcher:
    """One Triton kernel whose parameters are tensors, then numbers, then constants."""

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self._compiled: dict[Any, Any] = {}

    def __call__(
        self, programs: int, tensors: tuple[Tensor, ...], numbers: tuple[float, ...], constants: tuple[Any, ...], warps: int
    ) -> None:
        """Launch `programs` programs of `warps` warps on the current stream of the tensors' device."""
        device = tensors[0].get_device()
        if device >= 0 and device != _current():  # type: ignore[misc]
            with torch.cuda.device(device):
                return self(programs, tensors, numbers, constants, warps)
        addresses = [tensor.data_ptr() for tensor in tensors]
        low_bits = 0
        for address in addresses:
            low_bits |= address
        key = (device, warps, numbers, constants, *[tensor.dtype for tensor in tensors])
        found = self._compiled.get(key)
        if found is None or low_bits & 15 or _watched():
            made = self.kernel[(programs,)](*tensors, *numbers, *constants, num_warps=warps)
            if made is not None and not low_bits & 15:  # the interpreter returns nothing
                if len(self._compiled) >= _MOST:
                    self._compiled.clear()
                self._compiled[key] = (*_way_of(made), (*numbers, *constants))
            return None
        launch, before, after = found
        launch(programs, 1, 1, _stream(device), *before, *addresses, *after)  # type: ignore[misc]
        return None
