"""Config objects on their way to another process: an object of numbers, text, types and devices arrives as a namespace of the same names. Needs torch."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import torch

_DEEPEST = 8


def attributes(one: Any, depth: int = 0) -> dict[str, Any] | None:
    """What a config object (a dataclass, a namespace, an instance of a class of its own) holds by name, its properties included; None for anything
    that holds or does more: a tensor, a module, a function, a dict's subclass, an enumeration's member; and for what lies in slots or under keys that are no
    text, as in a config of transformers."""
    kind = type(one)
    more = isinstance(one, Enum | type | torch.nn.Module | torch.Tensor | Iterable) or callable(one)
    if more or not hasattr(one, "__dict__") or depth > _DEEPEST:
        return None
    computed = [name for name in dir(kind) if isinstance(getattr(kind, name, None), property)]
    try:
        held = {str(name): value for name, value in vars(one).items()} | {name: getattr(one, name) for name in computed}
    except Exception:  # a property of theirs that fails: what it would be is not known
        return None
    return held if all(_is_plain(value, depth + 1) for value in held.values()) else None


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or type(value) in (bool, int, float, str, torch.dtype, torch.device):
        return True
    if type(value) in (list, tuple):
        return depth < _DEEPEST and all(_is_plain(item, depth + 1) for item in value)
    if type(value) is dict:
        return depth < _DEEPEST and all(type(key) is str and _is_plain(item, depth + 1) for key, item in value.items())
    return attributes(value, depth) is not None
