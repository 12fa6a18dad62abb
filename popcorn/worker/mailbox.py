"""Tensors between processes: raw bytes in a shared buffer and a JSON description of what lies where. Needs torch.

On a CPU the buffer is a file in shared memory; on CUDA it is one allocation of its own (nothing else shares it, so opening it shows
nothing else), passed as an IPC handle. Trusted processes own every buffer; a candidate only opens them.
"""

import ctypes
import math
import mmap
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from popcorn.worker.namespaces import attributes

_ALIGN = 256
_DEEPEST = 32
_MOST_DIMENSIONS = 64
_MOST_ELEMENTS = 1 << 48
MOST_BITS = 1 << 10
"""Of an integer among results."""

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
        torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
        torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu, torch.uint16, torch.uint32, torch.uint64,
    )
}  # fmt: skip


_TYPES = {str(one).removeprefix("torch."): one for one in vars(torch).values() if isinstance(one, torch.dtype)}
bare = torch._C.TensorBase.detach
"""A tensor without its graph and without what somebody hung on the object: `tensor.detach` could be anything. Bound at import."""


class Full(Exception):
    """What should be packed does not fit into the buffer."""


class Alien(Exception):
    """A description that does not fit the buffer it speaks of."""


class Buffer:
    """A region of bytes seen as a flat uint8 tensor, filled from the front by `pack`."""

    def __init__(self, flat: torch.Tensor, address: dict[str, Any], keep: Any = None):
        self.flat = flat
        self.address = address
        self.used = 0
        self._keep = keep

    @property
    def size(self) -> int:
        return self.flat.numel()

    def reset(self) -> None:
        """Forget what was packed."""
        self.used = 0


def create(folder: Path, name: str, size: int, device: torch.device) -> Buffer:
    """A new buffer of at least `size` bytes on `device`, owned by this process."""
    size = max(4096, (size + 4095) // 4096 * 4096)
    if device.type == "cuda":
        return _create_cuda(size, device)
    path = folder / name
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return attach({"kind": "file", "path": str(path), "bytes": size}, device, writable=True)


def attach(address: dict[str, Any], device: torch.device, writable: bool) -> Buffer:
    """Open a buffer that another process created."""
    if address["kind"] == "cuda":
        return _attach_cuda(address, device)
    with Path(address["path"]).open("r+b" if writable else "rb") as file:
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_COPY
        region = mmap.mmap(file.fileno(), address["bytes"], access=access)
    return Buffer(torch.frombuffer(region, dtype=torch.uint8), address, region)


def pack(tree: Any, buffer: Buffer) -> Any:
    """Copies every tensor of a tree into the buffer; returns the tree as JSON with `{"t": …}` in their place.

    Trees are lists, tuples, dicts with string keys, numbers, strings, None, types and devices of torch, config objects. Anything else becomes
    `{"other": its type}`, and `{"alien": its type}` where it claims to be a tensor.
    """
    if type(tree) is torch.Tensor or type(tree) is torch.nn.Parameter:
        odd = oddness(tree)
        return {"t": _pack_tensor(bare(tree), buffer)} if odd is None else {"other": odd}
    if type(tree) is int and tree.bit_length() > MOST_BITS:
        return {"other": f"number of {tree.bit_length()} bits"}  # which would be no JSON: Python writes no more than 4300 digits
    if tree is None or type(tree) in (bool, int, str):
        return {"v": tree}
    if type(tree) is float:
        return {"f": tree.hex()}
    if is_sequence(tree):
        return {"l" if type(tree) is list else "u": [pack(item, buffer) for item in tree]}
    if type(tree) is dict and all(type(key) is str for key in tree):
        return {"d": {key: pack(item, buffer) for key, item in tree.items()}}
    if type(tree) in (torch.dtype, torch.device):
        return {"k" if type(tree) is torch.dtype else "w": str(tree).removeprefix("torch.")}
    held = attributes(tree)
    if held is not None:
        return {"n": {key: pack(item, buffer) for key, item in held.items()}}
    name = f"{type(tree).__module__}.{type(tree).__qualname__}"[:200]
    return {"alien" if isinstance(tree, torch.Tensor) else "other": name}


def oddness(tensor: torch.Tensor) -> str | None:
    """What keeps a plain tensor from being numbers in memory, as a noun; None where nothing does."""
    if tensor.is_nested:
        return "nested tensor"
    if tensor.layout != torch.strided:
        return f"tensor of layout {str(tensor.layout).removeprefix('torch.')}"
    if tensor.device.type == "meta":
        return "tensor on the meta device, which has no values"
    if str(tensor.dtype).removeprefix("torch.") not in DTYPES:
        return f"tensor of dtype {tensor.dtype}"
    if tensor.numel() and tensor.untyped_storage().nbytes() < (_span(tensor) + tensor.storage_offset()) * tensor.element_size():
        return "tensor whose memory was given back"
    return None


def is_sequence(tree: Any) -> bool:
    """A list, a tuple, or a named tuple as torch.max returns one: nothing that does work of its own when it is read."""
    kind = type(tree)
    if kind in (list, tuple):
        return True
    return isinstance(tree, tuple) and all(getattr(kind, name) is getattr(tuple, name) for name in ("__iter__", "__getitem__", "__len__"))


def unpack(packed: Any, buffer: Buffer, private: bool = True, depth: int = 0) -> Any:
    """The tree back. `private` copies each tensor out of the buffer, with its layout; else it is a view of the buffer.
    Raises Alien, and nothing else, for a description that is malformed, nested over 32 deep or reaching outside the buffer."""
    if not isinstance(packed, dict) or len(packed) != 1 or depth > _DEEPEST:
        raise Alien("not a packed tree")
    ((tag, value),) = packed.items()
    match tag, value:
        case "t", dict():
            return _unpack_tensor(value, buffer, private)
        case "v", bool() | int() | str() | None:
            return value
        case "f", str():
            return _unpack_float(value)
        case "l", list():
            return [unpack(item, buffer, private, depth + 1) for item in value]
        case "u", list():
            return tuple(unpack(item, buffer, private, depth + 1) for item in value)
        case "d", dict():
            return {key: unpack(item, buffer, private, depth + 1) for key, item in value.items()}
        case "n", dict():
            return SimpleNamespace(**{str(key): unpack(item, buffer, private, depth + 1) for key, item in value.items()})
        case "k", str() if value in _TYPES:
            return _TYPES[value]
        case "w", str() if re.fullmatch(r"(cpu|cuda|meta)(:[0-9]{1,2})?", value):
            return torch.device(value)
    raise Alien(f"an object of type {value if isinstance(value, str) else tag}"[:300])


def _unpack_float(text: str) -> float:
    try:
        return float.fromhex(text)
    except (ValueError, OverflowError) as error:
        raise Alien(f"not a number: {text[:40]!r}") from error


def leaves(tree: Any, path: str) -> list[tuple[str, Any]]:
    """Every leaf of a tree (or packed tree already unpacked) with its path: `out`, `out[0]`, `out['mean']`."""
    if isinstance(tree, (list, tuple)):
        return [leaf for index, item in enumerate(tree) for leaf in leaves(item, f"{path}[{index}]")]
    if isinstance(tree, dict):
        return [leaf for key, item in tree.items() for leaf in leaves(item, f"{path}[{key!r}]")]
    return [(path, tree)]


def tensors_of(tree: Any) -> list[torch.Tensor]:
    """The tensors among the leaves, in order."""
    return [leaf for _, leaf in leaves(tree, "") if isinstance(leaf, torch.Tensor)]


def size_of(tree: Any) -> int:
    """Bytes that `pack` needs for a tree."""
    return sum((_span(t) * t.element_size() + 2 * _ALIGN) // _ALIGN * _ALIGN for t in tensors_of(tree))


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A private copy with the same strides, gaps included."""
    flat = tensor.detach().as_strided((_span(tensor),), (1,), tensor.storage_offset()).clone()
    return flat.as_strided(tensor.shape, tensor.stride())


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last that the strides reach."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _pack_tensor(tensor: torch.Tensor, buffer: Buffer) -> dict[str, Any]:
    span = _span(tensor)
    start = (buffer.used + _ALIGN - 1) // _ALIGN * _ALIGN
    end = start + span * tensor.element_size()
    if end > buffer.size:
        raise Full(f"{end} bytes are needed, the buffer holds {buffer.size}")
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise Alien(f"a tensor of dtype {name}")
    if span:
        flat = tensor.as_strided((span,), (1,), tensor.storage_offset())
        buffer.flat[start:end].view(tensor.dtype).copy_(flat)
    buffer.used = end
    return {"dtype": name, "shape": list(tensor.shape), "stride": list(tensor.stride()), "at": start}


def _unpack_tensor(spec: Any, buffer: Buffer, private: bool) -> torch.Tensor:
    try:
        dtype, shape, stride, start = DTYPES[spec["dtype"]], [*spec["shape"]], [*spec["stride"]], spec["at"]
        fits = len(shape) == len(stride) <= _MOST_DIMENSIONS
        if not fits or not all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, *stride, start)):
            raise Alien("a tensor with impossible sizes")
    except (KeyError, TypeError) as error:
        raise Alien(f"not a tensor description: {error}") from error
    if math.prod(shape) >= _MOST_ELEMENTS:  # a stride of 0 needs no room, but nothing can be done with it either
        raise Alien("a tensor with impossible sizes")
    span = 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    end = start + span * dtype.itemsize
    if start % _ALIGN or end > buffer.size:
        raise Alien("a tensor outside its buffer")
    flat = buffer.flat[start:end].view(dtype)
    return (flat.clone() if private else flat).as_strided(shape, stride)


class _Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class _Pointer:
    """A raw device pointer that torch can view."""

    def __init__(self, address: int, size: int):
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _create_cuda(size: int, device: torch.device) -> Buffer:
    torch.cuda.set_device(device)
    torch.empty(1, device=device)  # makes the primary context current
    pointer, handle = ctypes.c_uint64(), _Handle()
    _must(_driver().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)), f"cuMemAlloc of {size} bytes")
    _must(_driver().cuIpcGetMemHandle(ctypes.byref(handle), pointer), "cuIpcGetMemHandle")
    address = {"kind": "cuda", "handle": bytes(handle.bytes).hex(), "bytes": size}
    assert pointer.value
    return Buffer(torch.as_tensor(_Pointer(pointer.value, size), device=device), address)


def _attach_cuda(address: dict[str, Any], device: torch.device) -> Buffer:
    torch.cuda.set_device(device)
    torch.empty(1, device=device)
    handle = _Handle((ctypes.c_ubyte * 64)(*bytes.fromhex(address["handle"])))
    pointer = ctypes.c_uint64()
    open_handle = _driver().cuIpcOpenMemHandle_v2
    open_handle.argtypes = [ctypes.c_void_p, _Handle, ctypes.c_uint]
    _must(open_handle(ctypes.byref(pointer), handle, 1), "cuIpcOpenMemHandle")
    assert pointer.value
    return Buffer(torch.as_tensor(_Pointer(pointer.value, address["bytes"]), device=device), address)


def free(buffer: Buffer) -> None:
    """Give a buffer that this process created back to the device (files go with their folder)."""
    if buffer.address["kind"] == "cuda":
        pointer = buffer.flat.data_ptr()
        torch.cuda.synchronize()
        _must(_driver().cuMemFree_v2(ctypes.c_uint64(pointer)), "cuMemFree")
    else:
        Path(buffer.address["path"]).unlink(missing_ok=True)


def detach(buffer: Buffer) -> None:
    """Close a buffer that another process created: on a GPU its memory is kept as long as somebody has it open."""
    if buffer.address["kind"] == "cuda":
        torch.cuda.synchronize()
        _must(_driver().cuIpcCloseMemHandle(ctypes.c_uint64(buffer.flat.data_ptr())), "cuIpcCloseMemHandle")


def _must(code: int, what: str) -> None:
    if code != 0:
        raise RuntimeError(f"{what} failed with CUDA driver error {code}")
