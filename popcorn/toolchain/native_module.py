"""A native library as an nn.Module. Child side: used only in a process that has torch, for it loads the candidate's code."""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

OutputSpec = tuple[tuple[int, ...], torch.dtype]

DTYPE_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.float8_e5m2: 23,
    torch.float8_e4m3fn: 24,
    torch.float8_e5m2fnuz: 25,
    torch.float8_e4m3fnuz: 26,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
    torch.float8_e8m0fnu: 44,
}
"""torch dtype → enum popcorn_dtype of popcorn_kernel.h."""


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Arguments:
    """An array of popcorn_tensor, refilled only where shape, stride or dtype changed since the last call."""

    def __init__(self, count: int) -> None:
        self.array = (_Tensor * max(count, 1))()
        self.slots = [self.array[index] for index in range(count)]
        self.layouts: list[Any] = [None] * count
        self.kept: list[Any] = [None] * count

    def fill(self, tensors: Sequence[Tensor]) -> None:
        for index, tensor in enumerate(tensors):
            slot = self.slots[index]
            slot.data = tensor.data_ptr()
            layout = (tensor.shape, tensor.stride(), tensor.dtype)
            if layout != self.layouts[index]:
                self._describe(index, tensor)
                self.layouts[index] = layout

    def _describe(self, index: int, tensor: Tensor) -> None:
        if tensor.dtype not in DTYPE_CODES:
            raise RuntimeError(f"the C interface has no code for {tensor.dtype}")
        row = ctypes.c_int64 * max(tensor.dim(), 1)
        shape, stride = row(*tensor.shape), row(*tensor.stride())
        slot = self.slots[index]
        slot.dtype, slot.ndim, slot.shape, slot.stride = DTYPE_CODES[tensor.dtype], tensor.dim(), shape, stride
        self.kept[index] = (shape, stride)  # the structure holds bare pointers


class NativeModule(nn.Module):
    """Calls popcorn_forward (and popcorn_backward where the library has it).

    `weights` are the reference's parameters and buffers in state_dict order; nn.Parameters stay parameters. Raises RuntimeError with
    the kernel's number when it returns nonzero. Not for several threads at once: the argument structures are reused.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        output_specs: Sequence[OutputSpec],
        device: torch.device,
        weights: Sequence[Tensor],
        scalars: Sequence[float],
    ) -> None:
        super().__init__()
        self._weights = list(weights)
        for index, weight in enumerate(self._weights):
            if isinstance(weight, nn.Parameter):
                self.register_parameter(f"weight_{index}", weight)
            else:
                self.register_buffer(f"weight_{index}", weight)
        self._specs = [(tuple(shape), dtype) for shape, dtype in output_specs]
        self._device = device
        self._cuda = device.type == "cuda"
        self._own_scalars = list(scalars)
        self._set_scalars([])
        self._forward = library.popcorn_forward
        self._backward = getattr(library, "popcorn_backward", None)
        self._inputs: _Arguments | None = None
        self._outputs = _Arguments(len(self._specs))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "NativeModule":
        super()._apply(fn, recurse)  # .to() may replace buffers
        self._weights = [getattr(self, f"weight_{index}") for index in range(len(self._weights))]
        return self

    def _set_scalars(self, numbers: Sequence[float]) -> None:
        """Those of the constructor, then `numbers`."""
        scalars = [*self._own_scalars, *numbers]
        self._scalars, self._n_scalars = (ctypes.c_double * max(len(scalars), 1))(*scalars), len(scalars)

    def forward(self, *inputs: Any) -> Any:
        """Outputs with the reference's shapes and dtypes: one tensor, or a tuple of several. Of inputs that are no tensors the tensors in them are taken,
        and numbers become scalars."""
        for one in inputs:
            if not isinstance(one, Tensor):
                found = _flat(inputs)
                inputs = tuple(leaf for leaf in found if isinstance(leaf, Tensor))
                self._set_scalars([float(leaf) for leaf in found if isinstance(leaf, bool | int | float)])
                break
        if self._backward is not None and torch.is_grad_enabled():
            tensors = (*inputs, *self._weights)
            if any(tensor.requires_grad for tensor in tensors):
                return _one_or_all(_Differentiable.apply(self, len(inputs), *tensors))
        return _one_or_all(self._call(inputs))

    def _call(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        outputs = tuple([torch.empty(shape, dtype=dtype, device=self._device) for shape, dtype in self._specs])
        tensors = [*inputs, *self._weights]
        if self._inputs is None or len(self._inputs.slots) != len(tensors):
            self._inputs = _Arguments(len(tensors))
        self._inputs.fill(tensors)
        self._outputs.fill(outputs)
        code = self._forward(
            self._inputs.array, len(tensors), self._outputs.array, len(outputs), self._scalars, self._n_scalars, self._stream()
        )
        if code != 0:
            raise RuntimeError(f"popcorn_forward returned {code}; 0 means success")
        return outputs

    def _call_backward(self, tensors: Sequence[Tensor], n_inputs: int, grad_outputs: Sequence[Tensor]) -> list[Tensor | None]:
        assert self._backward is not None
        wanted = [
            tensor.is_floating_point() if index < n_inputs else isinstance(self._weights[index - n_inputs], nn.Parameter)
            for index, tensor in enumerate(tensors)
        ]
        grads = [
            torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            for tensor, keep in zip(tensors, wanted, strict=True)
            if keep
        ]
        arrays = [_filled(tensors), _filled(grad_outputs), _filled(grads)]
        code = self._backward(
            arrays[0].array, len(tensors), arrays[1].array, len(grad_outputs), arrays[2].array, len(grads),
            self._scalars, self._n_scalars, self._stream(),
        )  # fmt: skip
        if code != 0:
            raise RuntimeError(f"popcorn_backward returned {code}; 0 means success")
        made = iter(grads)
        return [next(made) if keep else None for keep in wanted]

    def _stream(self) -> ctypes.c_void_p | None:
        if not self._cuda:
            return None
        return ctypes.c_void_p(torch.cuda.current_stream(self._device).cuda_stream)


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, module: NativeModule, n_inputs: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.module, ctx.n_inputs = module, n_inputs
        ctx.save_for_backward(*tensors)
        outputs = module._call(tensors[:n_inputs])
        ctx.mark_non_differentiable(*[output for output in outputs if not output.is_floating_point()])
        ctx.floating = [output.is_floating_point() for output in outputs]
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        given = [grad.contiguous() for grad, floating in zip(grad_outputs, ctx.floating, strict=True) if floating]
        return (None, None, *ctx.module._call_backward(ctx.saved_tensors, ctx.n_inputs, given))


def load_native(
    path: str | Path, output_specs: Sequence[OutputSpec], device: torch.device | str
) -> Callable[[Sequence[Tensor], Sequence[float]], NativeModule]:
    """Load the library at `path` and return `make(weights, scalars) -> NativeModule`.

    `output_specs` are the (shape, dtype) of the reference's outputs, `device` where they are allocated. Raises RuntimeError when the
    library cannot be loaded (an undefined symbol, a constructor that fails).
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise RuntimeError(f"the library cannot be loaded: {error}") from error
    tensors, count, scalars = ctypes.POINTER(_Tensor), ctypes.c_int, ctypes.POINTER(ctypes.c_double)
    library.popcorn_forward.restype = ctypes.c_int
    library.popcorn_forward.argtypes = [tensors, count, tensors, count, scalars, count, ctypes.c_void_p]
    if hasattr(library, "popcorn_backward"):
        library.popcorn_backward.restype = ctypes.c_int
        library.popcorn_backward.argtypes = [tensors, count, tensors, count, tensors, count, scalars, count, ctypes.c_void_p]
    place = torch.device(device)

    def make(weights: Sequence[Tensor], scalars: Sequence[float]) -> NativeModule:
        return NativeModule(library, output_specs, place, weights, [float(value) for value in scalars])

    return make


def _filled(tensors: Sequence[Tensor]) -> _Arguments:
    arguments = _Arguments(len(tensors))
    arguments.fill(tensors)
    return arguments


def _flat(tree: Any) -> list[Any]:
    if isinstance(tree, list | tuple | dict):
        return [leaf for one in (tree.values() if isinstance(tree, dict) else tree) for leaf in _flat(one)]
    return [tree]


def _one_or_all(outputs: tuple[Tensor, ...]) -> Any:
    return outputs[0] if len(outputs) == 1 else outputs
