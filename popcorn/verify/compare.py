"""One output against the truth, as numbers. Needs torch; runs where the truth is (the oracle). judge.py turns the numbers into a verdict.

Errors are in units of max(scale, |truth|) with scale = rms(truth), so that neither a large nor a near-zero element decides alone.
A few giant elements can raise the rms so far that nothing else counts; `typical` is the mean error in the unit of the median element,
each capped at 1, so that those few decide nothing in it. `faint` is the same for the elements that are nothing beside that one, where there are many.
"""

import functools
import math

import torch

from popcorn.schema.comparison import Errors, OutputErrors, Worst

_SAMPLED = 1 << 16
_LEAST = 1e-30
_FAINT, _SHARE = 1e-3, 0.02
"""Elements under this part of the common one are faint; where they are fewer than this share nothing is said of them."""
_PIECE = 1 << 15
"""Elements that are compared at once: a quarter of a megabyte in float64."""
_SINGLE = 2.0**-22
"""Of the largest |truth|: more than rounding to float32, and subtracting there, can lose."""


def compare(
    output: str,
    got: torch.Tensor,
    again: torch.Tensor | None,
    truth: torch.Tensor,
    reference: torch.Tensor | None,
    sensitivity: Errors | None,
    floor: float,
    flips: torch.Tensor | None = None,
    figures: bool = True,
) -> OutputErrors:
    """All figures for one output; `got`, `again` (a second run or None), `truth` and `reference` (or None) have the same shape.

    `flips` (booleans or None) marks the elements of an exact output that change under nudged inputs. Without `figures` those that only
    people read (relative errors, ULP, cosine) are left out, which halves the work; the verdict is the same.
    """
    if not truth.is_floating_point() and not truth.is_complex():
        return _compare_exact(output, got, again, truth, truth if reference is None else reference, flips)
    if truth.numel() == 0:
        return OutputErrors(output=output, elements=0, exact=False, candidate=Errors(largest=0, p999=0, mean=0, typical=0))
    if truth.is_complex():
        got, truth = (torch.view_as_real(t.resolve_conj()) for t in (got, truth))
        reference = None if reference is None else torch.view_as_real(reference.resolve_conj())
        again = None if again is None else torch.view_as_real(again.resolve_conj())
    if not all_finite(got):
        bad = int((~torch.isfinite(got)).sum())
        return OutputErrors(output=output, elements=truth.numel(), exact=False, nonfinite=bad)
    got_wide, units = got.to(torch.float64), Units(truth)
    truth = units.truth
    difference = (got_wide - truth).abs_()
    reference_difference = None if reference is None else (reference.to(torch.float64) - truth).abs_()
    statistics = units.statistics(difference)
    repeat = None
    if again is not None:
        repeat = 0.0 if torch.equal(got, again) else _finite(float(((got_wide - again.to(torch.float64)).abs() * units.weight).max()))
    found = OutputErrors(
        output=output,
        elements=truth.numel(),
        exact=False,
        candidate=statistics,
        reference=None if reference_difference is None else units.statistics(reference_difference),
        sensitivity=sensitivity,
        repeat=repeat,
        max_abs=_finite(float(difference.max())),
        mean_abs=_finite(float(difference.mean())),
        reference_max_abs=None if reference_difference is None else _finite(float(reference_difference.max())),
        scale=units.scale,
        worst=_worst(got_wide, units, difference, floor) if statistics.largest > floor else None,
    )
    if not figures:
        return found
    relative = difference / (units.size + floor * units.scale) if units.scale > 0 else difference
    return found.model_copy(
        update={
            "max_rel": _finite(float(relative.max())),
            "mean_rel": _finite(float(relative.mean())),
            "max_ulp": _ulp(got, truth) if got.dtype == torch.float32 else None,
            "cosine": _cosine(got_wide, truth),
        }
    )


def limit_errors(output: str, got: torch.Tensor, again: torch.Tensor | None, truth: torch.Tensor, floor: float) -> OutputErrors | None:
    """What passes at first sight, in a third of the work: upper limits of all four statistics within `floor`, or equal integers, and a second
    run equal to the first. None where that decides nothing: then `compare` does."""
    if truth.is_complex() or truth.numel() == 0 or (again is not None and not torch.equal(got, again)):
        return None
    same = OutputErrors(output=output, elements=truth.numel(), exact=not truth.is_floating_point(), repeat=None if again is None else 0.0)
    if same.exact:
        return same if torch.equal(got, truth) else None
    wide = truth.detach().to(torch.float64).reshape(-1)
    scale = math.sqrt(float(wide @ wide) / wide.numel())
    if not 1e-100 < scale < 1e100:  # squares of such numbers do not fit a double
        scale = Units(truth).scale
    if not scale > 0:
        return None
    got = got.detach().reshape(-1)
    largest, max_abs, mean_abs = _errors(got if got.element_size() > 1 else got.to(torch.float64), wide, scale)
    limits = _limits(largest, wide, scale, floor)
    return (
        None if limits is None else same.model_copy(update={"candidate": limits, "scale": scale, "max_abs": max_abs, "mean_abs": mean_abs})
    )


def glance(output: str, got: torch.Tensor, truth: torch.Tensor, floor: float) -> OutputErrors | None:
    """What passes by far, in a fifth of `limit_errors`' work, for who asks for nothing but the verdict. None where that decides nothing.

    In float32: an error in units of max(scale, |truth|) is no larger than the largest difference over the scale, and the truth's own rounding is added.
    """
    if not (got.is_floating_point() and got.element_size() in (2, 4) and truth.dtype == torch.float64 and truth.numel()):
        return None
    got, wide = got.detach().reshape(-1), truth.detach().reshape(-1)
    scale = math.sqrt(float(wide @ wide) / wide.numel())
    if not 1e-25 < scale < 1e25:  # far from where float32 loses digits or ends
        return None
    piece = truth.numel() if truth.is_cuda else _PIECE
    apart, size = [], []
    for mine, true in zip(got.split(piece), wide.split(piece), strict=True):
        single = true.to(torch.float32)
        apart.append(torch.sub(mine, single).abs_().max())
        size.append(single.abs_().max())
    largest = (float(torch.stack(apart).max()) + _SINGLE * float(torch.stack(size).max())) / scale
    limits = _limits(largest, wide, scale, floor)
    return None if limits is None else OutputErrors(output=output, elements=truth.numel(), exact=False, candidate=limits, scale=scale)


def _limits(largest: float, truth: torch.Tensor, scale: float, floor: float) -> Errors | None:
    """All statistics at their most, where the largest error is known and this passes: no mean and no quantile exceeds it, and no typical one exceeds it
    by more than its unit is smaller, scale / median."""
    common, faint = sizes(truth)
    typical = largest * max(1.0, scale / common)
    if not typical <= floor or faint is not None:  # NaN, too
        return None
    return Errors(largest=largest, p999=largest, mean=largest, typical=typical)


def _errors(got: torch.Tensor, truth: torch.Tensor, scale: float) -> tuple[float, float, float]:
    """Of flat tensors: the largest error in units of max(scale, |truth|), the largest one, the mean. On a CPU piece by piece: a piece stays in its
    cache, and the whole would be read from memory five times and written three."""
    piece = truth.numel() if truth.is_cuda else _PIECE
    largest, max_abs, sums = [], [], []
    for mine, true in zip(got.split(piece), truth.split(piece), strict=True):
        difference = torch.sub(mine, true).abs_()
        max_abs.append(difference.max())
        sums.append(difference.sum())
        largest.append(difference.div_(true.abs().clamp_(min=scale)).max())
    found = [torch.stack(largest).max(), torch.stack(max_abs).max(), torch.stack(sums).sum() / truth.numel()]
    return float(found[0]), float(found[1]), float(found[2])


def all_finite(values: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite. Such an element makes the sum so, in one pass; a sum that overflows by itself is looked into."""
    values = values if values.element_size() > 1 else values.to(torch.float32)  # torch sums no float8
    return bool(torch.isfinite(values.sum())) or bool(torch.isfinite(values).all())


class Units:
    """What errors are measured in, for one truth: each piece is computed once."""

    def __init__(self, truth: torch.Tensor):
        self.truth = truth.to(torch.float64)
        self.size = self.truth.abs()
        largest = float(self.size.max()) if truth.numel() else 0.0
        by = 1.0 if 1e-120 < largest < 1e120 else largest  # of numbers whose squares do not fit a double, too
        flat = self.size.flatten() if by == 1.0 else (self.size / by).flatten()
        self.scale = by * math.sqrt(float(flat @ flat) / flat.numel()) if largest > 0 else 0.0

    @functools.cached_property
    def weight(self) -> torch.Tensor:
        """1 / max(scale, |truth|)."""
        return self.size.clamp(min=self.scale).reciprocal_() if self.scale > 0 else torch.ones_like(self.size)

    @functools.cached_property
    def sizes(self) -> tuple[float, float | None]:
        return sizes(self.truth)

    @functools.cached_property
    def typical(self) -> torch.Tensor:
        """1 / max(median |truth|, |truth|)."""
        return self.size.clamp(min=self.sizes[0]).reciprocal_()

    def statistics(self, difference: torch.Tensor) -> Errors:
        """Largest, 99.9th percentile, mean and typical error; `difference` is |something − truth| ≥ 0."""
        flat = (difference * self.weight).flatten()
        beyond = max(1, flat.numel() // 1000)
        return Errors(
            largest=_finite(float(flat.max())),
            p999=_finite(float(torch.topk(flat, beyond).values[-1])),
            mean=_finite(float(flat.mean())),
            typical=float((difference * self.typical).clamp_(max=1).mean()),
            faint=self._faint(difference),
        )

    def _faint(self, difference: torch.Tensor) -> float:
        common, faint = self.sizes
        if faint is None:
            return 0.0
        among = (self.size >= _LEAST) & (self.size < _FAINT * common)
        return float((difference[among] / self.size[among].clamp_(min=faint)).clamp_(max=1).mean())


def _worst(got: torch.Tensor, units: Units, difference: torch.Tensor, floor: float) -> Worst:
    """Where the largest error is."""
    relative = difference * units.weight
    place = int(relative.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), relative.shape))
    got_there, wanted = (_finite(float(t.reshape(-1)[place])) for t in (got, units.truth))
    return Worst(index=index, got=got_there, wanted=wanted, beyond=int((relative > floor).sum()))


def _compare_exact(
    output: str,
    got: torch.Tensor,
    again: torch.Tensor | None,
    truth: torch.Tensor,
    reference: torch.Tensor,
    flips: torch.Tensor | None,
) -> OutputErrors:
    """An argmax between two numbers that rounding makes equal has no right answer; everywhere else integers are equal or wrong."""
    undecided = (reference != truth) if flips is None else (reference != truth) | flips
    return OutputErrors(
        output=output,
        elements=truth.numel(),
        exact=True,
        unequal=int(((got != truth) & ~undecided).sum()),
        undecided=int(undecided.sum()),
        repeat=None if again is None else float(((got != again) & ~undecided).sum()),
    )


def moved(truth: torch.Tensor, nudged: torch.Tensor) -> Errors:
    """How far the truth moves under nudged inputs, in units of max(scale, |truth|)."""
    difference = (nudged - truth).abs_()
    if not all_finite(difference):
        difference = torch.nan_to_num(difference, nan=1e300, posinf=1e300)
    return Units(truth).statistics(difference.to(torch.float64))


def rms(truth: torch.Tensor) -> float:
    """Root mean square."""
    return Units(truth).scale


def sizes(truth: torch.Tensor) -> tuple[float, float | None]:
    """(median |truth| of the elements that are not zero, that of the faint ones or None where they are too few). At least 1e-30: below it numbers
    underflow; the first is 1 when all are zero."""
    flat = truth.flatten()
    present = flat[:: flat.numel() // _SAMPLED + 1].abs()  # a median needs no more elements than these
    present = present[present > 0]
    common = max(_LEAST, float(present.median())) if present.numel() else 1.0
    faint = present[(present >= _LEAST) & (present < _FAINT * common)]
    return common, float(faint.median()) if faint.numel() > _SHARE * present.numel() else None


def _finite(value: float) -> float:
    return value if -1e300 < value < 1e300 else 1e300


def _ulp(got: torch.Tensor, truth: torch.Tensor) -> float:
    """Distance on the ordered integers that float32 patterns form (two's complement below zero)."""

    def ordered(t: torch.Tensor) -> torch.Tensor:
        bits = t.contiguous().view(torch.int32)
        return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    # in double: two's complement of opposite ends would not fit 32 bits
    return float((ordered(got).to(torch.float64) - ordered(truth.to(torch.float32))).abs_().max())


def _cosine(got: torch.Tensor, truth: torch.Tensor) -> float | None:
    a, b = (t.flatten().to(torch.float64) / (float(t.abs().max()) or 1.0) for t in (got, truth))
    norms = float(a.norm() * b.norm())
    return float(a @ b) / norms if norms > 0 else None
