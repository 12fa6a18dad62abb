"""Examine a problem: the rules of verify/health.py on a loaded one, in the oracle. Needs torch."""

from typing import TYPE_CHECKING, Any

import torch

from popcorn.verify.health import Check, flat_axes, nonfinite, passes, trivial_answers
from popcorn.worker.mailbox import tensors_of

if TYPE_CHECKING:
    from popcorn.worker.oracle import Oracle, Question

SEEDS = (11, 23)
SIZES = 4


def examine(oracle: "Oracle", floor: float) -> list[Check]:
    """Every rule, in the order of verify/health.py's list."""
    nominal = oracle.loaded.draw_dims(0, False)
    made = [_Known(oracle, _question(nominal, seed), floor) for seed in SEEDS]
    unfit = [one.unfit for one in made if one.unfit]
    if unfit:
        return [Check("the truth is finite and decides", False, unfit[0])]
    return [
        Check("the truth is finite and decides", True),
        _trivial(made),
        _weights(made[0]),
        _inputs(made[0], made[1]),
        _spread(made),
        _precision(made[0], floor),
        _sizes(oracle),
    ]


class _Known:
    """Inputs, reference and truth of one seed."""

    def __init__(self, oracle: "Oracle", question: "Question", floor: float):
        self.oracle, self.question, self.floor = oracle, question, floor
        self.inputs, self.init_args, self.model = oracle._make(question)
        self.flags = [False for _ in tensors_of(self.inputs)]
        self.reference = self.answer(self.model, self.inputs)
        self.unfit = "the reference gives NaN or infinity" if nonfinite(self.reference) else None
        if not self.unfit:
            self.unfit = oracle._settle(question, self.inputs, self.init_args, [], self.flags, self.reference, False)
        assert oracle.current is not None or self.unfit
        self.truth = oracle.current.truth if oracle.current is not None else []

    def answer(self, model: Any, inputs: list[Any]) -> list[tuple[str, Any]]:
        return self.oracle._answer(model, inputs, [], self.flags, self.question, self.oracle.precision)

    def accepts(self, answer: list[tuple[str, Any]]) -> bool:
        shapes = [getattr(leaf, "shape", None) for _, leaf in answer] == [getattr(leaf, "shape", None) for _, leaf in self.truth]
        return shapes and passes(answer, self.truth, self.reference, self.floor)


def _question(dims: dict[str, int], seed: int) -> "Question":
    from popcorn.worker.oracle import Question

    return Question(dims, seed, seed + 1, seed + 2, "normal", "contiguous")


def _trivial(made: list[_Known]) -> Check:
    passed = [
        {name for name, answer in trivial_answers(one.reference, tensors_of(one.inputs)).items() if one.accepts(answer)} for one in made
    ]
    always = set.intersection(*passed)
    return Check("no trivial answer passes", not always, f"these pass: {', '.join(sorted(always))}" if always else "")


def _weights(one: _Known) -> Check:
    rule = "weights matter"
    if not isinstance(one.model, torch.nn.Module) or not list(one.model.parameters()):
        return Check(rule, True, "no weights")
    _, _, other = one.oracle._make(_other_weights(one.question))
    ignored = one.accepts(one.answer(other, one.inputs))
    return Check(rule, not ignored, "other weights give an answer that passes" if ignored else "")


def _other_weights(question: "Question") -> "Question":
    from dataclasses import replace

    return replace(question, init_seed=question.init_seed + 1000)


def _inputs(one: _Known, other: _Known) -> Check:
    """Each input in turn from another seed. One that cannot be exchanged alone (an index into another) is left out, and said."""
    from popcorn.worker.trees import replace_tensors

    idle, left_out, tensors, others = [], [], tensors_of(one.inputs), tensors_of(other.inputs)
    for index, (mine, theirs) in enumerate(zip(tensors, others, strict=True)):
        if mine.shape != theirs.shape or torch.equal(mine, theirs):
            left_out.append(str(index))
            continue
        mixed = [theirs if i == index else t for i, t in enumerate(tensors)]
        try:
            if one.accepts(one.answer(one.model, replace_tensors(one.inputs, mixed))):
                idle.append(str(index))
        except (RuntimeError, IndexError, ValueError):
            left_out.append(str(index))
    found = (
        f"input {', '.join(idle)} changes nothing" if idle else f"input {', '.join(left_out)} cannot be exchanged alone" if left_out else ""
    )
    return Check("every input matters", not idle, found)


def _spread(made: list[_Known]) -> Check:
    flat = set.intersection(*(set(flat_axes(one.truth)) for one in made))
    return Check("outputs vary along every axis", not flat, ", ".join(sorted(flat)))


def _precision(one: _Known, floor: float) -> Check:
    from popcorn.verify.compare import compare

    worst = 0.0
    for (path, mine), (_, right) in zip(one.reference, one.truth, strict=True):
        if isinstance(right, torch.Tensor) and right.is_floating_point() and right.numel():
            errors = compare(path, mine, None, right, mine, None, floor)
            worst = max(worst, errors.candidate.mean if errors.candidate else 0.0)
    return Check("the reference is within the tolerance of float64", worst <= floor, f"mean error {worst:.1e}, {floor:.0e} is allowed")


def _sizes(oracle: "Oracle") -> Check:
    rule = "drawn sizes work"
    for seed in range(SIZES):
        dims = oracle.loaded.draw_dims(seed, True)
        question = _question(dims, seed)
        try:
            inputs, _, model = oracle._make(question)
            answer = oracle._answer(model, inputs, [], [False for _ in tensors_of(inputs)], question, oracle.precision)
        except Exception as error:  # whatever a problem does at some size makes it unfit
            return Check(rule, False, f"{dims}: {type(error).__name__}: {error}"[:300])
        if nonfinite(answer):
            return Check(rule, False, f"{dims}: NaN or infinity")
    return Check(rule, True)
