"""Numbers to verdict: the rule of docs/measuring.md as a pure function. Imports no torch; runs in the parent."""

import struct
from dataclasses import dataclass

from popcorn.schema.comparison import OutputErrors
from popcorn.schema.verdict import Miss, Outcome, Precision

FLOORS: dict[str, float] = {"float64": 1e-10, "float32": 2e-5, "tf32": 5e-4, "float16": 1e-3, "bfloat16": 8e-3}
"""Smallest error that always passes, in units of max(rms(truth), |truth|), by precision."""

ILL_CONDITIONED = 0.05
"""A trial whose truth moves by more than this (mean) under rounding of the inputs alone cannot tell right from wrong."""
EARLIER = "the answer of an earlier trial"
BLIND = ("zeros", "ones", "its mean", "its mean row", EARLIER)
"""Trivial answers that look at no input (health.py)."""
_POISON = (b"\x7f" * 8, b"\xc7" * 8, 2 * struct.pack("<f", 3e38))
"""What fresh memory holds while a trial runs: on a CPU bytes that glibc writes, on a GPU this number (worker/side.py)."""
UNWRITTEN = {struct.unpack(kind, fresh[-size:])[0] for fresh in _POISON for kind, size in (("<e", 2), ("<f", 4), ("<d", 8))} | {
    struct.unpack("<f", b"\0\0" + fresh[-2:])[0] for fresh in _POISON
}
"""The same as a number of each element type; the last is bfloat16, the upper half of a float32."""
GRADIENTS = "gradient of"
"""The key under which a call with gradients returns them (worker/subject.py): no forward pass has a result of this name."""
GRADIENT = f"out[{GRADIENTS!r}]"
"""How the name of a gradient begins."""
TYPICAL_NOISE = 0.02
"""Where the reference's own typical error is above it, most elements hold no figure that could be right."""
FAINT = 0.25
"""What the elements that are small beside the rest may be off by: whoever computes them at all is nearer, by whatever way."""

_STATISTICS = (("largest", "largest"), ("p999", "99.9th percentile"), ("mean", "mean"), ("typical", "typical"))


@dataclass(frozen=True)
class Failure:
    """Why an output does not pass."""

    outcome: Outcome
    reason: str
    miss: Miss | None = None


def bound(errors: OutputErrors, statistic: str, floor: float) -> float:
    """The largest value of one statistic that passes: twice what the reference itself (or rounding of its inputs) loses, or the floor.

    Four times for gradients in half precision: a backward pass may start from results that the forward pass kept rounded. FlashAttention's, torch's own among
    them, are 2.8 (99.9th percentile) and 3.3 times (mean) as far off as those of plain attention where rows resemble each other. The floor tells the
    precision: a problem that declares one as wide has gradients as wide.
    """
    times = 4 if errors.output.startswith(GRADIENT) and floor >= FLOORS["float16"] else 2
    own = [getattr(side, statistic) for side in (errors.reference, errors.sensitivity) if side is not None]
    return max([floor, *(times * value for value in own)])


def unfit(errors: OutputErrors) -> str | None:
    """Why this output's trial cannot decide anything, or None."""
    if errors.undecided > ILL_CONDITIONED * errors.elements:
        return f"{errors.output} is ill-conditioned here: rounding alone changes {errors.undecided} of its {errors.elements} integers"
    for what, side in (("under rounding of its inputs", errors.sensitivity), ("in the reference itself", errors.reference)):
        if side is not None and side.mean > ILL_CONDITIONED:
            return f"{errors.output} is ill-conditioned here: it moves by {side.mean:.1%} of its scale {what}"
    return None


def _noise(errors: OutputErrors, statistic: str) -> bool:
    """Whether the typical (or the faint) element is noise already in the reference or under rounding of its inputs, so that it says nothing of a
    candidate.

    Gradients of a saturated softmax are like this: nearly all of them cancel to nothing, and each way of computing leaves other dust.
    """
    return any(side is not None and getattr(side, statistic) > TYPICAL_NOISE for side in (errors.reference, errors.sensitivity))


def judge(errors: OutputErrors, floor: float) -> Failure | None:
    """None when the output passes; else the outcome and the reason with figures."""
    return judge_values(errors, floor) or judge_repeat(errors, floor)


def judge_values(errors: OutputErrors, floor: float) -> Failure | None:
    """The values of the first run against the truth."""
    if errors.exact:
        if errors.unequal:
            return Failure(
                "wrong_values", f"{errors.output}: {errors.unequal} of {errors.elements} elements differ; integers must be equal"
            )
        return None
    if errors.nonfinite:
        return Failure(
            "nonfinite", f"{errors.output}: {errors.nonfinite} of {errors.elements} elements are NaN or infinite; the truth is finite"
        )
    assert errors.candidate is not None
    for statistic, name in _STATISTICS:
        if statistic == "typical" and _noise(errors, statistic):
            continue
        value, limit = getattr(errors.candidate, statistic), bound(errors, statistic, floor)
        if not value <= limit:
            unit = "median" if statistic == "typical" else "rms"
            told = f"{errors.output}: {name} error {value:.3g} exceeds {limit:.3g} (relative to max({unit}, |truth|))"
            return Failure("wrong_values", told + _place(errors), _miss(errors, value / limit))
    if errors.candidate.faint > FAINT and not _noise(errors, "faint"):
        told = f"{errors.output}: elements under a thousandth of the median are off by {errors.candidate.faint:.0%} of their own median"
        return Failure(
            "wrong_values",
            f"{told}; {FAINT:.0%} is allowed where the reference has them right",
            _miss(errors, errors.candidate.faint / FAINT),
        )
    return None


def miss_of(trials: list[OutputErrors], floor: float) -> Miss | None:
    """Of the last output that does not pass."""
    failures = (judge_values(errors, floor) for errors in reversed(trials))
    return next((failure.miss for failure in failures if failure is not None), None)


def _miss(errors: OutputErrors, times_bound: float) -> Miss | None:
    at = errors.worst
    if at is None:
        return None
    return Miss(
        off_share=float(f"{at.beyond / errors.elements:.2g}"),
        times_bound=times_bound,
        largest=float(f"{errors.candidate.largest:.2g}") if errors.candidate is not None else None,
        unwritten=at.got in UNWRITTEN,
    )


def _place(errors: OutputErrors) -> str:
    """`; at [3, 17] it is 0.52 instead of 0.48; 1 of 8,192 elements is off`, where the element is known."""
    at = errors.worst
    if at is None:
        return ""
    never = " (as if nothing had been written there)" if at.got in UNWRITTEN else ""
    off = f"{at.beyond:,} of {errors.elements:,} elements {'is' if at.beyond == 1 else 'are'} off"
    return f"; at {list(at.index)} it is {at.got:.6g} instead of {at.wanted:.6g}{never}; {off}"


def judge_repeat(errors: OutputErrors, floor: float) -> Failure | None:
    """The second run against the first."""
    if errors.exact:
        if errors.repeat:
            return Failure("not_deterministic", f"{errors.output}: two runs on the same inputs differ in {errors.repeat:.0f} elements")
        return None
    if errors.repeat is not None and errors.repeat > bound(errors, "largest", floor):
        return Failure(
            "not_deterministic", f"{errors.output}: two runs on the same inputs differ by {errors.repeat:.3g}; {floor:.0e} is allowed"
        )
    return None


def worst(trials: list[OutputErrors], floor: float) -> tuple[Precision, ...]:
    """Per output, the share of its bound that was used at most, and the figures of one trial."""
    found: dict[str, Precision] = {}
    for errors in trials:
        if errors.exact:
            found.setdefault(errors.output, Precision(output=errors.output, max_abs_error=0.0 if not errors.unequal else None))
            continue
        if errors.candidate is None:
            continue
        limit = bound(errors, "largest", floor)
        new = Precision(
            output=errors.output, max_abs_error=errors.max_abs, mean_abs_error=errors.mean_abs, max_rel_error=errors.max_rel,
            mean_rel_error=errors.mean_rel, max_ulp=errors.max_ulp, cosine=errors.cosine, scale=errors.scale,
            reference_max_abs_error=errors.reference_max_abs, bound=limit, worst=errors.candidate.largest,
        )  # fmt: skip
        old = found.get(errors.output)
        found[errors.output] = new if old is None else _merge(old, new)
    return tuple(found.values())


def _merge(old: Precision, new: Precision) -> Precision:
    """The bound of which more was used, and beside it all other figures of one trial: of those with the reference's own error the one that is
    further off for its scale. Figures of two trials are no pair."""

    def share(row: Precision) -> float:
        return (row.worst or 0.0) / (row.bound or 1.0)

    def off(row: Precision) -> tuple[bool, float]:
        return row.reference_max_abs_error is not None, (row.max_abs_error or 0.0) / (row.scale or 1.0)

    used = new if share(new) > share(old) else old
    told = new if off(new) > off(old) else old
    return told.model_copy(update={"bound": used.bound, "worst": used.worst})
