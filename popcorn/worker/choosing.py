"""Each answer of a batch chooses the next question, so that calls must be made one after the other. Free of torch.

A batch could else be answered in one stroke by a process that does not ask its kernel call by call: short calls without what each costs beside its work,
long ones with weights that are read once for all. Of every few input sets that lie ready, one is asked: which, follows from coarse digits of some elements of the answer before. They are too coarse to be steered by an
error that passes. The parent reads the same elements in the process's memory and so knows what was asked.
"""

import ctypes
import math
import struct
from typing import Any

import numpy as np

WAYS = 4
"""Input sets of which one is asked, at the least."""
_ELEMENTS = 2
"""Elements a bit is made of."""
_LEAST_STEP = 2.0**-8
_TOLERANCES = 64
"""A digit is so many times as large as the error that passes."""
_FORMS = {"float32": "<f", "float64": "<d", "float16": "<e", "bfloat16": "<f", "int64": "<q", "int32": "<i"}
"""Element types that can decide, as `struct` reads them; a bfloat16 is the upper half of a float32."""


def draw_choice(
    expected: list[list[Any]], scales: list[float | None], floor: float, seed: int, ways: int = WAYS
) -> dict[str, Any] | None:  # fmt: skip
    """What decides among so many `ways`, a power of two: of the first output with numbers that can be read, some elements. None where there is none.

    `expected` are (path, shape, dtype) of the outputs, `scales` their root mean squares where known.
    """
    generator = np.random.default_rng(seed)
    for tensor, ((_, shape, dtype), scale) in enumerate(zip(expected, scales, strict=True)):
        if dtype not in _FORMS or not shape or 0 in shape or ("float" in dtype and not scale):
            continue
        unit = scale * max(_LEAST_STEP, _TOLERANCES * floor) if scale and "float" in dtype else 1.0
        bits = [[[int(generator.integers(size)) for size in shape] for _ in range(_ELEMENTS)] for _ in range(ways.bit_length() - 1)]
        return {"tensor": tensor, "dtype": dtype, "shape": list(shape), "unit": unit, "bits": bits}
    return None


def ways_of(choice: dict[str, Any]) -> int:
    """Input sets of which one is asked."""
    return 1 << len(choice["bits"])


def places_of(choice: dict[str, Any], dtype: str, shape: list[int], stride: list[int]) -> list[list[int]] | None:
    """Byte offsets of the deciding elements from the first one; None where the tensor is not what was expected."""
    if dtype != choice["dtype"] or list(shape) != choice["shape"] or len(stride) != len(shape):
        return None
    size = item_bytes(choice)
    return [[size * sum(at * step for at, step in zip(index, stride, strict=True)) for index in bit] for bit in choice["bits"]]


def way(values: list[list[float]], unit: float) -> int:
    """Which of the next input sets is asked, from the deciding elements."""
    found = 0
    for bit in values:
        digits = sum(math.floor(value / unit) for value in bit if math.isfinite(value / unit))
        found = 2 * found + (digits & 1)
    return found


def read_here(choice: dict[str, Any], address: int, places: list[list[int]]) -> list[list[float]]:
    """The deciding elements of a tensor in this process."""
    size = item_bytes(choice)
    return [[from_bytes(choice, ctypes.string_at(address + place, size)) for place in bit] for bit in places]


def from_bytes(choice: dict[str, Any], data: bytes | bytearray) -> float:
    """One element as it lies in memory."""
    upper = b"\0\0" if choice["dtype"] == "bfloat16" else b""
    return struct.unpack(_FORMS[choice["dtype"]], upper + data)[0]


def item_bytes(choice: dict[str, Any]) -> int:
    """Bytes of one element."""
    return struct.calcsize(_FORMS[choice["dtype"]]) // (2 if choice["dtype"] == "bfloat16" else 1)
