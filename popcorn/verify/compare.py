"""One output against the truth, as numbers. Needs torch; runs where the truth is (the oracle). judge.py turns the numbers into a verdict.

Errors are in units of max(scale, |truth|) with scale = rms(truth), so that neither a large nor a near-zero element decides alone.
A few giant elements can raise the rms so far that nothing else counts; `typical` is the mean error in the unit of the median element,
each capped at 1, so that those few decide nothing in it.
"""

import torch

from popcorn.schema.comparison import Errors, OutputErrors

_SAMPLED = 1 << 20


def compare(
    output: str,
    got: torch.Tensor,
    again: torch.Tensor | None,
    truth: torch.Tensor,
    reference: torch.Tensor,
    sensitivity: Errors | None,
    floor: float,
    flips: torch.Tensor | None = None,
) -> OutputErrors:
    """All figures for one output; `got`, `again` (a second run or None), `truth` and `reference` have the same shape.

    `flips` (booleans or None) marks the elements of an exact output that change under nudged inputs.
    """
    if not truth.is_floating_point() and not truth.is_complex():
        return _compare_exact(output, got, again, truth, reference, flips)
    if truth.numel() == 0:
        return OutputErrors(output=output, elements=0, exact=False, candidate=Errors(largest=0, p999=0, mean=0, typical=0))
    if truth.is_complex():
        got, truth, reference = (torch.view_as_real(t.resolve_conj()) for t in (got, truth, reference))
        again = None if again is None else torch.view_as_real(again.resolve_conj())
    bad = int((~torch.isfinite(got)).sum())
    if bad:
        return OutputErrors(output=output, elements=truth.numel(), exact=False, nonfinite=bad)
    got_wide, truth = got.to(torch.float64), truth.to(torch.float64)
    scale = rms(truth)
    difference = (got_wide - truth).abs()
    relative = difference / (truth.abs() + floor * scale) if scale > 0 else difference
    reference_difference = (reference.to(torch.float64) - truth).abs()
    repeat = None
    if again is not None:
        repeat = 0.0 if torch.equal(got, again) else _finite(float(((got_wide - again.to(torch.float64)).abs() * _weight(truth)).max()))
    return OutputErrors(
        output=output,
        elements=truth.numel(),
        exact=False,
        candidate=statistics(difference, truth),
        reference=statistics(reference_difference, truth),
        sensitivity=sensitivity,
        repeat=repeat,
        max_abs=_finite(float(difference.max())),
        mean_abs=_finite(float(difference.mean())),
        max_rel=_finite(float(relative.max())),
        mean_rel=_finite(float(relative.mean())),
        reference_max_abs=_finite(float(reference_difference.max())),
        max_ulp=_ulp(got, truth) if got.dtype == torch.float32 else None,
        cosine=_cosine(got_wide, truth),
        scale=scale,
    )


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
    return statistics(torch.nan_to_num((nudged - truth).abs(), nan=1e300, posinf=1e300), truth)


def statistics(difference: torch.Tensor, truth: torch.Tensor) -> Errors:
    """Largest, 99.9th percentile, mean and typical error; `difference` is |something − truth| ≥ 0."""
    flat = (difference * _weight(truth)).flatten()
    beyond = max(1, flat.numel() // 1000)
    return Errors(
        largest=_finite(float(flat.max())),
        p999=_finite(float(torch.topk(flat, beyond).values[-1])),
        mean=_finite(float(flat.mean(dtype=torch.float64))),
        typical=float((difference / truth.abs().clamp(min=common(truth))).clamp(max=1).mean(dtype=torch.float64)),
    )


def rms(truth: torch.Tensor) -> float:
    """Root mean square; of numbers whose squares do not fit a double too."""
    largest = float(truth.abs().max()) if truth.numel() else 0.0
    return largest * float((truth.to(torch.float64) / largest).square().mean().sqrt()) if largest > 0 else 0.0


def common(truth: torch.Tensor) -> float:
    """Median |truth| of the elements that are not zero, at least 1e-30: below it numbers underflow. 1 when all are zero."""
    flat = truth.flatten()
    present = flat[:: flat.numel() // _SAMPLED + 1].abs()  # a median needs no more elements than these
    present = present[present > 0]
    return max(1e-30, float(present.median())) if present.numel() else 1.0


def _weight(truth: torch.Tensor) -> torch.Tensor:
    scale = rms(truth)
    return 1 / truth.abs().clamp(min=scale) if scale > 0 else torch.ones_like(truth)


def _finite(value: float) -> float:
    return value if -1e300 < value < 1e300 else 1e300


def _ulp(got: torch.Tensor, truth: torch.Tensor) -> float:
    """Distance on the ordered integers that float32 patterns form (two's complement below zero)."""

    def ordered(t: torch.Tensor) -> torch.Tensor:
        bits = t.contiguous().view(torch.int32).to(torch.int64)
        return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    return float((ordered(got) - ordered(truth.to(torch.float32))).abs().max())


def _cosine(got: torch.Tensor, truth: torch.Tensor) -> float | None:
    a, b = (t.flatten().to(torch.float64) / (float(t.abs().max()) or 1.0) for t in (got, truth))
    norms = float(a.norm() * b.norm())
    return float(a @ b) / norms if norms > 0 else None
