"""Results read out of a candidate's memory at the moment of its answer, by the parent. Free of torch; Linux.

A result that lies where its process says, while the kernel holds that process still, was computed before the answer: nothing has to be handed
over, so nothing but the calls is timed, and nothing can be made when somebody looks. Pages that would be filled when they are touched give none.
"""

import ctypes
import itertools
import math
import os
from pathlib import Path
from typing import Any

from popcorn.worker import choosing

ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip
ALIGN = 256
"""As in worker/mailbox.py."""
_MOST_DIMENSIONS = 64
_MOST_PIECES = 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


class Absent(Exception):
    """There is nothing to read where a result should lie; the sentence says what was found."""


class _Span(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def read_memory(pid: int, address: int, size: int) -> bytearray:
    """Bytes of another process. Raises Absent where they cannot be read."""
    into = bytearray(size)
    here, done = (ctypes.c_char * size).from_buffer(into), 0
    while done < size:
        mine, theirs = _Span(ctypes.addressof(here) + done, size - done), _Span(address + done, size - done)
        count = _libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
        if count <= 0:
            raise Absent(f"its memory cannot be read ({os.strerror(ctypes.get_errno())})")
        done += count
    return into


def readable(pid: int) -> bool:
    """Whether this process may read that one's memory here (a hardened kernel forbids it even for one's own)."""
    try:
        with open(f"/proc/{pid}/maps") as maps:  # noqa: PTH123 - a file of the kernel's
            start = int(maps.readline().partition("-")[0], 16)
        read_memory(pid, start, 1)
    except (OSError, ValueError, Absent):
        return False
    return True


def mapped(pid: int, folder: str) -> list[tuple[int, int]]:
    """Where files of a folder lie in a process's memory, as the kernel tells it. Raises Absent where it does not."""
    folder = os.path.realpath(folder)  # as the kernel names it
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError as error:
        raise Absent(f"its map of memory cannot be read ({error.strerror})") from None
    found = []
    for line in lines:
        span, *_, path = line.split(maxsplit=5)
        if path.startswith(f"{folder}/"):
            start, _, end = span.partition("-")
            found.append((int(start, 16), int(end, 16)))
    return found


def views(told: dict[str, Any], places: list[tuple[int, int]]) -> set[int]:
    """Numbers of the tensors that lie in one of these places in any call: views of what the process was given. Raises Absent as `fetch` does."""
    try:
        return {
            number
            for row in told["places"]
            for number, address in enumerate(row[1::2])
            if any(start <= address < end for start, end in places)
        }
    except (KeyError, IndexError, TypeError) as error:
        raise Absent(f"its process does not say where its results are ({type(error).__name__})") from None


def repeated(told: dict[str, Any]) -> set[int]:
    """Numbers of the tensors that two calls have at one address, though all results are kept: the second handed out once more what the first gave. Raises
    Absent as `fetch` does."""
    try:
        columns = zip(*(row[1::2] for row in told["places"]), strict=True)
        there = [[address for address in column if address] for column in columns]  # a tensor without elements lies nowhere
        return {number for number, addresses in enumerate(there) if len({*addresses}) < len(addresses)}
    except (KeyError, TypeError, ValueError) as error:
        raise Absent(f"its process does not say where its results are ({type(error).__name__})") from None


def fetch(pid: int, told: dict[str, Any], index: int, outbox: int, size: int, used: int) -> tuple[Any, int]:
    """The result of call `index` as a packed tree, its bytes written to the file `outbox` of `size` bytes from `used` on; and the bytes used then.

    `told` is what worker/places.py said: the tree, the forms, and a row of (form, address) pairs a call. None of it is believed: Absent says what
    is wrong with it.
    """
    try:
        row, forms = told["places"][index], told["forms"]
        pairs = list(zip(row[::2], row[1::2], strict=True))
        specs = []
        for form, address in pairs:
            dtype, shape, stride = forms[form]
            item = ITEM_BYTES[dtype]
            span = _span(shape, stride) * item
            start = -(-used // ALIGN) * ALIGN
            # of a view into something larger its elements alone
            data = _elements(pid, address, shape, stride, item, size - start) if span > math.prod(shape) * item else None
            if data is not None:
                stride, span = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))], len(data)
                os.pwrite(outbox, data, start)
            elif start + span > size:
                return {"large": {"dtype": dtype, "shape": shape}}, used
            elif span:
                os.pwrite(outbox, read_memory(pid, address, span), start)
            specs.append({"dtype": dtype, "shape": shape, "stride": stride, "at": start})
            used = start + span
        return _filled(told["tree"], specs, 0), used
    except (KeyError, IndexError, TypeError, ValueError, RecursionError, ctypes.ArgumentError, OverflowError) as error:
        raise Absent(f"its process does not say where its results are ({type(error).__name__})") from None


def asked(pid: int, told: dict[str, Any], choice: dict[str, Any], calls: int) -> list[int]:
    """Which input sets a chain of `calls` calls was asked, from the results that chose them. Raises Absent as `fetch` does."""
    chosen, found, size, ways = 0, [], choosing.item_bytes(choice), choosing.ways_of(choice)
    try:
        for call in range(calls):
            found.append(call * ways + chosen)
            form, address = (*told["places"][call][2 * choice["tensor"] :], -1, 0)[:2]
            places = choosing.places_of(choice, *told["forms"][form]) if form >= 0 else None
            values = [[choosing.from_bytes(choice, read_memory(pid, address + place, size)) for place in bit] for bit in places or []]
            chosen = choosing.way(values, choice["unit"])
        return found
    except (KeyError, IndexError, TypeError, ValueError, ctypes.ArgumentError, OverflowError) as error:
        raise Absent(f"its process does not say where its results are ({type(error).__name__})") from None


def _elements(pid: int, address: int, shape: list[int], stride: list[int], item: int, room: int) -> bytes | None:
    """A view's elements one after the other, read row by row; None where there is no room for them, or they lie in too many pieces."""
    whole = bool(stride) and stride[-1] == 1
    outer, run = (shape[:-1], shape[-1]) if whole else (shape, 1)
    if math.prod(shape) * item > room or math.prod(outer) > _MOST_PIECES:
        return None
    places = (address + item * sum(i * step for i, step in zip(at, stride, strict=False)) for at in itertools.product(*map(range, outer)))
    return b"".join(read_memory(pid, place, run * item) for place in places)


def _span(shape: list[int], stride: list[int]) -> int:
    """Elements from the first to the last that the strides reach."""
    if (
        len(shape) != len(stride)
        or len(shape) > _MOST_DIMENSIONS
        or not all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, *stride))
    ):
        raise ValueError("impossible sizes")
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def _filled(tree: Any, specs: list[dict[str, Any]], depth: int) -> Any:
    """The tree with its `{"t": number}` replaced by descriptions."""
    if not isinstance(tree, dict) or len(tree) != 1 or depth > 40:
        raise ValueError("not a tree")
    ((kind, value),) = tree.items()
    if kind == "t":
        return {"t": specs[value]}
    if kind in ("l", "u"):
        return {kind: [_filled(item, specs, depth + 1) for item in value]}
    if kind == "d":
        return {"d": {str(key): _filled(item, specs, depth + 1) for key, item in value.items()}}
    return tree
