"""What a kernel assumes, found by judging it: element types, gradients, multiples, bounds. The answer becomes its `accepts`.

Nothing is read from the text or believed of it. Cases of the op's plan are judged in the sandbox, smaller first; a class (element type,
gradients) whose first cases fail is dropped as a whole; failures that sizes separate from the rest become bounds; failures that nothing
separates are a refusal. First all sizes are tried; where they fail, sizes in multiples.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from popcorn.schema.case import Case
from popcorn.search.program import Judged

STEPS = (1, 4, 8, 16, 32)
PROBES = 2
"""Failures at the smallest cases of a class after which it is dropped."""

Examine = Callable[[Case, Mapping[str, int]], Judged]
"""(case, multiples) → the judgement of the kernel at this case, sizes of trials drawn in multiples."""


@dataclass
class Assumptions:
    """What it was shown to take, and what was seen on the way."""

    precisions: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    """Of these element types, those with which it was right with gradients, too."""
    multiples: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    """Scalar → the value that it was right with, where it was not with another: a text may hold a number and read none."""
    refusal: str | None = None
    """Why it cannot be adopted at all."""
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """(case, outcome, reason) of everything judged."""
    left_out: list[str] = field(default_factory=list)
    """Classes that it does not take, each with the reason."""

    @property
    def gradient(self) -> bool:
        """Whether it takes gradients with any element type."""
        return bool(self.gradients)


def find_assumptions(cases: Sequence[Case], examine: Examine, last: str | None) -> Assumptions:
    """Judge until it is known. `last` is the innermost size, the one that multiples are tried of; cases come smaller first."""
    refused = "it failed at every case"
    seen: list[tuple[str, str, str]] = []
    for step in STEPS if last else (1,):
        multiples = {last: step} if last and step > 1 else {}
        fitting = [one for one in cases if not multiples or one.dims[last] % step == 0]  # type: ignore[index]
        found = _with(fitting, examine, multiples)
        seen += found.seen
        found.seen = seen
        if found.precisions:
            _ask_scalars(found, fitting, examine)
        if found.precisions or any(outcome == "cheated" for _, outcome, _ in seen):
            return found
        refused = found.refusal or refused
    return Assumptions(refusal=refused, seen=seen)


def _ask_scalars(found: Assumptions, cases: Sequence[Case], examine: Examine) -> None:
    """One more case for each scalar of a continuous value, with another value: whole numbers and flags count as the call's own wherever it goes."""
    right = {case for case, outcome, _ in found.seen if outcome == "correct"}
    plain = next((one for one in cases if one.id in right and one.gradient == "none"), None)
    if plain is None:
        return
    for name, value in plain.scalars.items():
        if not isinstance(value, float):
            continue
        other = plain.model_copy(update={"scalars": {**plain.scalars, name: value / 2 if abs(value) >= 0.01 else 0.5}})
        judged = examine(other, found.multiples)
        found.seen.append((other.id, judged.outcome, judged.reason or ""))
        if judged.outcome != "correct":
            found.fixed[name] = value
            found.left_out.append(f"{name} other than {value:g}: {other.id} is {judged.outcome} ({judged.reason or 'no reason'})"[:300])
        if judged.outcome == "cheated":
            found.precisions, found.refusal = (), f"{other.id}: {judged.reason}"


def _with(cases: Sequence[Case], examine: Examine, multiples: dict[str, int]) -> Assumptions:
    made = Assumptions(multiples=multiples)
    passed: dict[tuple[str, str], list[Case]] = {}
    failed: dict[tuple[str, str], list[tuple[Case, Judged]]] = {}
    for case in sorted(cases, key=lambda one: one.gradient != "none"):
        kind = (case.precision, case.gradient)
        if (kind not in passed and len(failed.get(kind, [])) >= PROBES) or (
            case.gradient == "grad" and (case.precision, "none") not in passed
        ):
            continue
        judged = examine(case, multiples)
        made.seen.append((case.id, judged.outcome, judged.reason or ""))
        if judged.outcome == "cheated":
            made.refusal = f"{case.id}: {judged.reason}"
            return made
        if judged.outcome == "correct":
            passed.setdefault(kind, []).append(case)
        elif judged.outcome not in ("harness_error", "invalid_reference"):
            failed.setdefault(kind, []).append((case, judged))
    return _conclude(made, passed, failed)


def _conclude(made: Assumptions, passed: dict, failed: dict) -> Assumptions:
    good = []
    for precision in dict.fromkeys(kind[0] for kind in [*passed, *failed]):
        kind = (precision, "none")
        bounds = _separate(passed.get(kind, []), [case for case, _ in failed.get(kind, [])]) if kind in passed else None
        if bounds is None:
            wrong = failed.get(kind)
            reason = f"{wrong[0][0].id} is {wrong[0][1].outcome} ({wrong[0][1].reason or 'no reason'})" if wrong else "no case was judged"
            made.left_out.append(f"{precision}: {reason}"[:300])
            continue
        good.append(precision)
        _tighten(made.bounds, bounds)
    made.precisions = tuple(good)
    grads = {precision: (passed.get((precision, "grad"), []), failed.get((precision, "grad"), [])) for precision in good}
    asked = any(right or wrong for right, wrong in grads.values())
    made.gradients = tuple(precision for precision, (right, wrong) in grads.items() if right and not wrong)
    for precision, (_, wrong) in grads.items() if asked else ():
        if precision not in made.gradients:
            reason = f"{wrong[0][0].id} is {wrong[0][1].outcome} ({wrong[0][1].reason or ''})" if wrong else "no case was judged"
            made.left_out.append(f"{precision} with gradients: {reason}"[:300])
    if not good:
        made.refusal = "; ".join(made.left_out) or "no case was judged"
    return made


def _separate(right: Sequence[Case], wrong: Sequence[Case]) -> dict[str, tuple[int, int]] | None:
    """Bounds of one size that keep every right case and no wrong one; {} where nothing is wrong, None where nothing separates them."""
    if not wrong:
        return {}
    for name in right[0].dims:
        low, high = min(one.dims[name] for one in right), max(one.dims[name] for one in right)
        if not any(low <= one.dims[name] <= high for one in wrong):
            return {name: (low, high)}
    return None


def _tighten(bounds: dict[str, tuple[int, int]], more: Mapping[str, tuple[int, int]]) -> None:
    for name, (low, high) in more.items():
        before = bounds.get(name, (low, high))
        bounds[name] = (max(before[0], low), min(before[1], high))
