"""Seeded inputs of several kinds for the same problem, without the problem knowing. Needs torch; runs in the oracle.

While a problem's get_inputs runs, its torch.randn and torch.rand are answered from another distribution with the same meaning: any real
number for randn, any number in [0, 1) for rand. So a softmax of randn stays a probability and an index stays an index. `normal_` and `uniform_` are the same
at their own mean and scale, in their own range.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DISTRIBUTIONS = ("normal", "uniform", "large", "small", "equal_rows", "one_hot", "structured")
"""`large` scales half of the rows by 8, and not the first, which does not tell, and lifts their largest element, and those beside it, far above the rest; `small` scales all by 0.01; `equal_rows` repeats the first row;
`one_hot` lets one entry in sixteen stand out; `structured` is a wave over the flat index: sums are coherent, neighbours differ, and an index mistake shows."""

_NORMAL = {torch.randn, torch.randn_like, torch.normal, torch.Tensor.normal_}
_UNIT = {torch.rand, torch.rand_like, torch.Tensor.uniform_}
_IN_PLACE = {torch.Tensor.normal_, torch.Tensor.uniform_}
_IN_PARTS: dict[Any, Callable] = {
    torch.randn: lambda part, source: part.normal_(generator=source), torch.rand: lambda part, source: part.uniform_(generator=source)
}  # fmt: skip
_PEAK = (128.0, 1448.0)
"""Beyond what exp can take in float32; and what half precision still holds when it is multiplied by another large number, eight times a normal one (5.5 at most)."""
_PART = 1 << 18
"""Elements that one generator draws: the values are a function of the seed alone, whatever the number of cores."""


class Drawing(TorchFunctionMode):
    """Within it, randn and rand draw from `distribution`."""

    def __init__(self, distribution: str):
        super().__init__()
        if distribution not in DISTRIBUTIONS:
            raise ValueError(f"unknown distribution {distribution!r}; expected one of {', '.join(DISTRIBUTIONS)}")
        self.distribution = distribution

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        drawn = _draw_in_parts(func, args, kwargs or {}) if func in _IN_PARTS else None
        drawn = func(*args, **(kwargs or {})) if drawn is None else drawn
        if self.distribution == "normal" or not isinstance(drawn, torch.Tensor) or not drawn.is_floating_point() or drawn.numel() == 0:
            return drawn
        if func not in _NORMAL and func not in _UNIT:
            return drawn
        kind = _real if func in _NORMAL else _unit
        shift, scale = _range_of(func, args, kwargs or {})
        if (shift, scale) == (0.0, 1.0):
            made = kind(drawn, self.distribution)
        elif scale:
            made = kind((drawn.detach() - shift) / scale, self.distribution) * scale + shift
            made = made.clamp(min(shift, shift + scale), max(shift, shift + scale)) if func in _UNIT else made
        else:
            return drawn
        return _filled(drawn, made) if func in _IN_PLACE else made


@torch.no_grad()
def _filled(drawn: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    return drawn.copy_(made)


def _range_of(func: Callable, args: tuple, kwargs: dict) -> tuple[float, float]:
    """What a standard draw is shifted by and scaled with: `normal_(mean, std)`, `uniform_(low, high)`; a scale of 0 where tensors say it."""
    if func not in _IN_PLACE and func is not torch.normal:
        return 0.0, 1.0
    given = args[int(func in _IN_PLACE) :]
    named = [
        kwargs.get(name, usual) for name, usual in zip(("mean", "std") if func in _NORMAL else ("from", "to"), (0.0, 1.0), strict=True)
    ]
    told = [*given[:2], *named[len(given) :]]
    if not all(isinstance(value, int | float) for value in told):
        return 0.0, 0.0
    return (float(told[0]), float(told[1])) if func in _NORMAL else (float(told[0]), float(told[1] - told[0]))


def _draw_in_parts(func: Callable, args: tuple, kwargs: dict) -> torch.Tensor | None:
    """randn or rand of a large tensor on a CPU, by all cores: torch draws with one. None where that is not what is asked for."""
    if kwargs.keys() - {"dtype", "device", "size", "requires_grad"} or _elements(args, kwargs) <= _PART:
        return None
    drawn = torch.empty(*args, **kwargs)
    if drawn.device.type != "cpu" or drawn.numel() <= _PART or not drawn.is_floating_point():
        return None
    seed = int(torch.randint(1 << 62, (), device="cpu"))
    parts = drawn.detach().view(-1).split(_PART)

    def fill(index: int) -> None:
        _IN_PARTS[func](parts[index], torch.Generator().manual_seed((seed + index) % (1 << 63)))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(fill, range(len(parts))))
    return drawn


def _elements(args: tuple, kwargs: dict) -> int:
    """Of a tensor with these arguments: to make one for its size alone would take as long as to draw a small one."""
    sizes = kwargs.get("size", args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)
    return math.prod(sizes) if isinstance(sizes, (list, tuple)) and all(isinstance(size, int) for size in sizes) else _PART + 1


def _real(x: torch.Tensor, distribution: str) -> torch.Tensor:
    match distribution:
        case "uniform":
            return torch.erf(x / 2**0.5) * 3**0.5  # the normal's own quantile, stretched to unit variance
        case "large":
            return _large(x)
        case "small":
            return x * 0.01
        case "equal_rows":
            return x[:1].expand_as(x).clone() if x.dim() > 1 else x
        case "one_hot":
            return torch.where(
                _every(x, 16), x * 3, x * 0.1
            )  # no zeros: in a sum of equal terms all round the same way, and a plain loop is wrong
        case _:
            return (torch.sin(_index(x) * 0.37) * 1.5).to(x.dtype) + x * 0.1


def _large(x: torch.Tensor) -> torch.Tensor:
    if x.dim() == 0:
        return x * 8
    rows = _some_rows(x)
    made = torch.where(rows, x * 8, x)
    place = [int(i) for i in torch.unravel_index(torch.where(rows, x, -torch.inf).argmax(), x.shape)]
    # its neighbours too are beyond exp, or a softmax that clamps instead of taking a maximum would be right
    for axis, size in enumerate(x.shape):
        beside = [*place]
        beside[axis] = place[axis] + 1 if place[axis] + 1 < size else place[axis] - 1
        if size > 1 and (any(beside[:-1]) or not any(place[:-1])):  # the first of several rows does not tell
            made[tuple(beside)] = _PEAK[0] - 1
    # few elements alone: a row of such numbers would leave half precision's range in a product. The largest one's square is as much as those of
    # all others before they were scaled, so that a mean square taken of a sample is wrong
    made[tuple(place)] = min(max(_PEAK[0], math.sqrt(x.numel())), _PEAK[1])
    return made


def _unit(x: torch.Tensor, distribution: str) -> torch.Tensor:
    match distribution:
        case "large":
            return x.pow(0.125).clamp(max=_under_one(x))
        case "small":
            return x * 0.01
        case "equal_rows":
            return x[:1].expand_as(x).clone() if x.dim() > 1 else x
        case "one_hot":
            return torch.where(_every(x, 16), x, x * 0.1)
        case "structured":
            return ((_index(x) * 0.618034 + x * 0.05) % 1.0).to(x.dtype).clamp(max=_under_one(x))
        case _:
            return x


def _under_one(x: torch.Tensor) -> float:
    """The largest number under 1 of x's element type, and at most 1 − 2⁻¹²."""
    return 1 - max(2**-12, torch.finfo(x.dtype).eps / 2)


def _index(x: torch.Tensor) -> torch.Tensor:
    """In float64: half precision knows no index above 2048."""
    return torch.arange(x.numel(), device=x.device, dtype=torch.float64).reshape(x.shape)


def _some_rows(x: torch.Tensor) -> torch.Tensor:
    """True for half of the rows, at least one: which, the values themselves decide. Not for the first of several, where people look. Fewer would
    be harder to tell by a sample, but an error is measured in units of all rows: a sixteenth would have to be 3.6 times as exact, half 1.4 times."""
    if x.dim() < 2:
        return torch.ones_like(x, dtype=torch.bool)
    first = x[..., :1].detach().clone()
    first.view(-1)[0] = -torch.inf
    return first >= first.flatten().topk(max(1, first.numel() // 2)).values[-1]


def _every(x: torch.Tensor, step: int) -> torch.Tensor:
    index = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    width = x.shape[-1] if x.dim() else 1
    return (index * 7 + index // max(1, width)) % step == 0


def cast(tree: Any, dtype: torch.dtype) -> Any:
    """Floating tensors of a tree to `dtype`; integers, booleans, floats of one byte (quantised by their problem) and everything else stay."""
    return _map(tree, lambda t: t.to(dtype) if t.dtype != dtype and t.is_floating_point() and t.element_size() > 1 else t)


def lay_out(tree: Any, layout: str) -> Any:
    """Tensors of two or more dimensions in another memory layout with the same values."""
    if layout == "contiguous":
        return _map(tree, lambda t: t.contiguous())
    if layout == "transposed":
        return _map(tree, lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 1 else t)
    if layout == "sliced":
        return _map(tree, _sliced)
    raise ValueError(f"unknown layout {layout!r}")


def _sliced(t: torch.Tensor) -> torch.Tensor:
    if t.dim() < 1 or t.numel() == 0:
        return t
    wide = torch.zeros((*t.shape[:-1], 2 * t.shape[-1]), dtype=t.dtype, device=t.device)
    wide[..., ::2] = t
    return wide[..., ::2]


def nudge(tree: Any, epsilon: float, generator: torch.Generator, least: bool = False) -> Any:
    """Floating tensors moved by up to half a unit in the last place (relative `epsilon`): what rounding alone could do.

    `least`: every element by no less than an element of the tensor's root mean square would be, zeros too.
    """

    def move(t: torch.Tensor) -> torch.Tensor:
        if not t.is_floating_point() or t.element_size() == 1:
            return t
        noise = torch.rand(t.shape, generator=generator, device=t.device, dtype=torch.float32).to(t.dtype) - 0.5
        if least:
            return t + epsilon * noise * t.abs().clamp_min(t.square().mean().sqrt() if t.numel() else 0)
        return t * (1 + epsilon * noise)

    return _map(tree, move)


def _map(tree: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        items = [_map(item, change) for item in tree]
        return items if isinstance(tree, list) else tuple(items)
    if isinstance(tree, dict):
        return {key: _map(item, change) for key, item in tree.items()}
    return tree
