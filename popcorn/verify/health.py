"""Is a problem fit to judge anything? Candidates that know nothing must not pass, and every input and weight must matter. Needs torch; runs in
the oracle, where no candidate code is.

Rules: a trivial answer (zeros, ones, the mean, the input, another seed's weights) fails; the truth is finite; the output varies along each of
its axes longer than one; a change of any one input or of the weights moves the output beyond the tolerance; the float32 reference is within the
tolerance of float64; a seed repeats; drawn sizes work; declared bytes and flops are within a tenth of a counting run, or say why not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from popcorn.verify.compare import all_finite, compare, rms
from popcorn.verify.judge import EARLIER, judge_values

_SAMPLE = 1 << 14
NEGLIGIBLE = 1e-3
"""A spread below this share of the output's scale is none."""


@dataclass(frozen=True)
class Check:
    """One rule and what became of it."""

    rule: str
    passed: bool
    found: str = ""


def passes(answer: list[tuple[str, Any]], truth: list[tuple[str, Any]], reference: list[tuple[str, Any]], floor: float) -> bool:
    """Whether an answer of the right structure would be called correct."""
    for (path, mine), (_, right), (_, theirs) in zip(answer, truth, reference, strict=True):
        if isinstance(right, torch.Tensor):
            errors = compare(path, mine, None, right, theirs, None, floor)
            if errors.elements and judge_values(errors, floor) is not None:
                return False
    return True


def trivial_answers(reference: list[tuple[str, Any]], inputs: list[torch.Tensor]) -> dict[str, list[tuple[str, Any]]]:
    """Answers of candidates that know nothing but the structure, by name."""

    def each(make: Callable[[torch.Tensor], torch.Tensor]) -> list[tuple[str, Any]]:
        return [(path, make(leaf) if isinstance(leaf, torch.Tensor) else leaf) for path, leaf in reference]

    def mean(t: torch.Tensor) -> torch.Tensor:
        # the mean of one number is that number: to know it is to know the answer
        return torch.full_like(t, t.mean().item()) if t.is_floating_point() and t.numel() > 1 else torch.zeros_like(t)

    def row(t: torch.Tensor) -> torch.Tensor:
        known = t.is_floating_point() and t.dim() > 1 and t.shape[0] > 1
        return t.mean(0, keepdim=True).expand_as(t).contiguous() if known else mean(t)

    def same(t: torch.Tensor) -> torch.Tensor:
        found = [one for one in inputs if one.shape == t.shape and one.dtype == t.dtype]
        return found[0] if found else torch.zeros_like(t)

    return {
        "zeros": each(torch.zeros_like),
        "ones": each(torch.ones_like),
        "its mean": each(mean),
        "its mean row": each(row),
        "the input": each(same),
    }


def known_without_looking(
    names: Sequence[str], truth: list[tuple[str, Any]], reference: list[tuple[str, Any]], floor: float, earlier: list[tuple[str, Any]] | None
) -> list[str]:  # fmt: skip
    """Those of the trivial answers that look at no input and would be called correct here; of large outputs a sample is held against the truth first.

    earlier: the reference's answer in an earlier trial; of the first one nothing is known yet.
    """
    if not names:
        return []
    answers = {**trivial_answers(reference, []), EARLIER: reference if earlier is None else earlier}
    if _form(answers[EARLIER]) != _form(reference):
        names = [name for name in names if name != EARLIER]

    def sampled(leaves: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [
            (path, one.reshape(-1)[:: max(1, one.numel() // _SAMPLE)] if isinstance(one, torch.Tensor) else one) for path, one in leaves
        ]

    few = sampled(truth), sampled(reference)
    likely = [name for name in names if passes(sampled(answers[name]), *few, floor)]
    return [name for name in likely if passes(answers[name], truth, reference, floor)]


def _form(answer: list[tuple[str, Any]]) -> list[Any]:
    return [(path, (one.shape, one.dtype) if isinstance(one, torch.Tensor) else type(one)) for path, one in answer]


def flat_axes(truth: list[tuple[str, Any]]) -> list[str]:
    """Axes of length above one along which an output hardly varies."""
    found = []
    for path, leaf in truth:
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.numel() > 1:
            scale = rms(leaf)
            for axis in range(leaf.dim()):
                if leaf.shape[axis] > 1 and float(leaf.std(axis).max()) <= NEGLIGIBLE * scale:
                    found.append(f"{path} along axis {axis}")
    return found


def nonfinite(answer: list[tuple[str, Any]]) -> list[str]:
    """Outputs with NaN or infinity."""
    floating = [(path, t) for path, t in answer if isinstance(t, torch.Tensor) and t.is_floating_point()]
    return [path for path, t in floating if not all_finite(t)]
