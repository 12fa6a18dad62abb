"""Examine a problem: the rules of verify/health.py on a loaded one, in the oracle. Needs torch."""

from typing import TYPE_CHECKING, Any

import torch

from popcorn.verify.health import Check, flat_axes, nonfinite, passes, trivial_answers
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import tensors_of
from popcorn.worker.making import faults_are_the_references
from popcorn.worker.pacing import LIMIT, Pace, pace_of
from popcorn.worker.reading import product_flops, weight_bytes
from popcorn.worker.trees import another_answer, steps, unjudgeable

if TYPE_CHECKING:
    from popcorn.worker.oracle import Oracle
    from popcorn.worker.truth import Question

SEEDS = (11, 23)
SIZES = 5
RANDOM = (
    "its forward draws random numbers (dropout that is not switched off, a sampler), so no kernel of one's own could give its answer; "
    "let get_inputs draw them, or call eval() in Model"
)
STATE = (
    "its forward keeps something from call to call, and a second call gives another answer, so no kernel could give it; let the state be an input and an "
    "output"
)
WEIGHTS = 32
"""So many weights are exchanged one by one."""
NEAR = 0.1
"""How far declared bytes and flops may lie from what a counting run sees."""


def examine(oracle: "Oracle", floor: float) -> "tuple[list[Check], _Known | None]":
    """Every rule, in the order of verify/health.py's list, and what was known for the first seed (None where the truth decides nothing)."""
    nominal = oracle.loaded.draw_dims(0, False)
    made = [_Known(oracle, _question(nominal, seed), floor) for seed in SEEDS]
    unfit = [one.unfit for one in made if one.unfit]
    if unfit:
        return [Check("the truth is finite and decides", False, unfit[0])], None
    return [
        Check("the truth is finite and decides", True),
        _random(made[0]),
        _trivial(made),
        _weights(made[0]),
        _inputs(made[0], made[1]),
        _spread(made),
        _precision(made[0], floor),
        _repeats(made[0]),
        _sizes(oracle),
        *_costs(made[0]),
    ], made[0]


def examine_and_time(oracle: "Oracle", floor: float) -> tuple[list[Check], dict[str, float | None]]:
    """Every rule, and the reference's time and intensity where it has them."""
    checks, known = examine(oracle, floor)
    if known is None:
        return checks, {}
    check, pace = pace_check(oracle, known)
    return [*checks, check], figures(oracle, known, pace)


def figures(oracle: "Oracle", known: "_Known", pace: Pace) -> dict[str, float | None]:
    """Time of one call of the reference (best of three, no more than a rough figure) and declared flops a byte."""
    dims = known.question.dims
    moved, done = oracle.loaded.min_bytes(dims, 4), oracle.loaded.flops(dims)
    return {"reference_s": pace.reference_s, "intensity": done / moved if moved and done else None}


class _Known:
    """Inputs, reference and truth of one seed."""

    def __init__(self, oracle: "Oracle", question: "Question", floor: float):
        self.oracle, self.question, self.floor = oracle, question, floor
        with faults_are_the_references(oracle.precision):
            self.inputs, self.init_args, self.model = oracle._make(question)
            self.flags = [False for _ in tensors_of(self.inputs)]
            self.reference = self.answer(self.model, self.inputs)
        try:
            self.unfit = unjudgeable(self.reference)
        except Failed as failed:
            self.unfit = failed.reason
        if not self.unfit:
            self.unfit = oracle.truths.settle(question, self.inputs, self.init_args, [], self.flags, self.reference, False)
        assert oracle.truths.current is not None or self.unfit
        self.truth = oracle.truths.current.truth if oracle.truths.current is not None else []

    def answer(self, model: Any, inputs: list[Any]) -> list[tuple[str, Any]]:
        answer = self.oracle._answer(model, inputs, [], self.flags, self.question, self.oracle.precision)
        return [(path, steps(leaf)) for path, leaf in answer]

    def accepts(self, answer: list[tuple[str, Any]]) -> bool:
        shapes = [getattr(leaf, "shape", None) for _, leaf in answer] == [getattr(leaf, "shape", None) for _, leaf in self.truth]
        return shapes and passes(answer, self.truth, self.reference, self.floor)


def _question(dims: dict[str, int], seed: int) -> "Question":
    from popcorn.worker.truth import Question

    return Question(dims, seed, seed + 1, seed + 2, "normal", "contiguous")


def _trivial(made: list[_Known]) -> Check:
    passed = [
        {name for name, answer in trivial_answers(one.reference, tensors_of(one.inputs)).items() if one.accepts(answer)} for one in made
    ]
    always = set.intersection(*passed)
    if made[0].accepts(made[1].reference) and made[1].accepts(made[0].reference):
        always.add("another seed's answer")
    return Check("no trivial answer passes", not always, f"these pass: {', '.join(sorted(always))}" if always else "")


def _random(one: _Known) -> Check:
    """An answer that changes with torch's generator can be given by nobody who does not draw the same numbers in the same order."""
    moved = unsteady(one.oracle, one.model, one.inputs, one.question, one.reference) == RANDOM
    return Check("the answer draws no random numbers", not moved, RANDOM if moved else "")


def unsteady(oracle: "Oracle", model: Any, inputs: list[Any], question: "Question", answer: list[tuple[str, Any]]) -> str | None:
    """Why the reference's forward has no one answer: it moves torch's generator or what its model holds, and a second call gives another answer."""
    if not (oracle.drew or oracle.kept):
        return None
    from dataclasses import replace

    flags, why = [False for _ in tensors_of(inputs)], RANDOM if oracle.drew else STATE
    another = replace(question, forward_seed=question.forward_seed + oracle.drew)
    other = dict(oracle._answer(model, inputs, [], flags, another, oracle.precision))
    both = [(leaf, other[path]) for path, leaf in answer if isinstance(leaf, torch.Tensor) and path in other]
    return why if another_answer([mine for mine, _ in both], [theirs for _, theirs in both]) else None


def pace_check(oracle: "Oracle", known: _Known) -> tuple[Check, Pace]:
    """No reference is held up by a loop of its own."""
    pace = pace_of(lambda: known.answer(known.model, known.inputs), oracle._synchronize, oracle.device)
    found = f"{pace.operators} operators, {pace.different} different: {pace.slowdown:.0f} times slower than the same maths vectorised"
    slow = pace.slowdown > LIMIT
    return Check("the reference is not held up by its own loop", not slow, found if slow else ""), pace


def _weights(one: _Known) -> Check:
    rule = "weights matter"
    if not isinstance(one.model, torch.nn.Module) or not list(one.model.parameters()):
        return Check(rule, True, "no weights")
    _, _, other = one.oracle._make(_other_weights(one.question))
    mine, theirs = dict(one.model.named_parameters()), dict(other.named_parameters())
    fixed = [name for name, weight in mine.items() if name in theirs and torch.equal(weight, theirs[name])]
    told = (
        f"{_listed(fixed)} the same under every seed, so a kernel may leave out what is done with them; draw their values in __init__"
        if fixed
        else ""
    )
    if one.accepts(one.answer(other, one.inputs)):
        return Check(rule, False, "other weights give an answer that passes" + (f": {told}" if told else ""))
    idle = _idle_weights(one, mine, theirs)
    also = f"{_listed(idle)} of no effect, so a kernel may do without" if idle else ""
    return Check(rule, True, "; ".join(filter(None, [told, also])))


def _idle_weights(one: _Known, mine: "dict[str, torch.nn.Parameter]", theirs: "dict[str, torch.nn.Parameter]") -> list[str]:
    """Weights, of the first `WEIGHTS`, that change nothing when they alone are another seed's."""
    found = []
    for name, weight in list(mine.items())[:WEIGHTS]:
        if name not in theirs or weight.shape != theirs[name].shape or torch.equal(weight, theirs[name]):
            continue
        with torch.no_grad():
            before = weight.clone()
            weight.copy_(theirs[name])
            try:
                found += [name] if one.accepts(one.answer(one.model, one.inputs)) else []
            finally:
                weight.copy_(before)
    return found


def _listed(names: list[str]) -> str:
    """`weight and bias are`, of many the first few."""
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return (" and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)) + (" are" if len(names) > 1 else " is")


def _other_weights(question: "Question") -> "Question":
    from dataclasses import replace

    return replace(question, init_seed=question.init_seed + 1000)


def _inputs(one: _Known, other: _Known) -> Check:
    """Each input in turn from another seed. One that cannot be exchanged alone (an index into another) is left out, and said."""
    from popcorn.worker.trees import replace_tensors

    idle, left_out, tensors, others = [], [], tensors_of(one.inputs), tensors_of(other.inputs)
    if tensors and all(mine.shape == theirs.shape and torch.equal(mine, theirs) for mine, theirs in zip(tensors, others, strict=True)):
        return Check(
            "every input matters", False, "the inputs are the same under every seed: let get_inputs draw them without a seed of its own"
        )
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


def _repeats(one: _Known) -> Check:
    """The same seeds give the same inputs, weights and answer. Sums in another order are allowed to differ by the tolerance."""
    rule = "the same seed gives the same problem"
    inputs, _, model = one.oracle._make(one.question)
    same = all(torch.equal(a, b) for a, b in zip(tensors_of(inputs), tensors_of(one.inputs), strict=True))
    if not same:
        return Check(rule, False, "the inputs differ")
    again = one.answer(model, inputs)
    if [getattr(leaf, "shape", None) for _, leaf in again] != [getattr(leaf, "shape", None) for _, leaf in one.reference]:
        return Check(rule, False, "the output's shape differs")
    if not one.accepts(again):
        return Check(rule, False, "the output differs")
    kept = one.accepts(one.answer(model, inputs))
    return Check(
        rule, kept, "" if kept else "a second call of the same model gives another answer: its forward keeps something from call to call"
    )


def _costs(one: _Known) -> list[Check]:
    """Declared bytes and flops against a counting run: at most what was counted, and within a tenth where the file gives no reason."""
    from popcorn.suites.facts import read_facts

    loaded, dims = one.oracle.loaded, one.question.dims
    told = read_facts(loaded.problem.source, loaded.problem.id)
    if one.oracle.precision != "float32" or told.dialect != "popcorn":
        return []
    checks = []
    moved, declared = counted_bytes(one), loaded.min_bytes(dims, 4)
    if declared is not None:
        fits = declared <= moved * 1.001 and (bool(told.bytes_why) or declared >= (1 - NEAR) * moved)
        checks.append(
            Check("declared bytes are those of the tensors", fits, "" if fits else f"declared {declared:.4g}, counted {moved:.4g}")
        )
    done, counted = loaded.flops(dims), product_flops(lambda: one.answer(one.model, one.inputs))
    if done is not None and counted and not told.flops_why:
        fits = abs(done - counted) <= NEAR * counted
        checks.append(
            Check("declared flops are those that a counter sees", fits, "" if fits else f"declared {done:.4g}, counted {counted:.4g}")
        )
    return checks


def counted_bytes(one: _Known) -> int:
    """Bytes of inputs and outputs, and of the weights that a run needs: rows of tables that are looked up, none of what reaches no output."""
    outputs = [leaf for _, leaf in one.reference if isinstance(leaf, torch.Tensor)]
    held = sum(t.numel() * t.element_size() for t in [*tensors_of(one.inputs), *outputs])
    return held + weight_bytes(one.model, lambda: tensors_of([leaf for _, leaf in one.answer(one.model, one.inputs)]))


def _sizes(oracle: "Oracle") -> Check:
    """Drawn sizes and every setting: the corners of the ranges, or a task's list."""
    rule = "drawn sizes and every setting work"
    drawn = {f"seed {seed}": oracle.loaded.draw_dims(seed, True) for seed in range(SIZES)}
    for seed, (name, dims) in enumerate({**drawn, **oracle.loaded.settings()}.items()):
        question = _question(dims, seed)
        try:
            inputs, _, model = oracle._make(question)
            answer = oracle._answer(model, inputs, [], [False for _ in tensors_of(inputs)], question, oracle.precision)
        except Exception as error:  # whatever a problem does at some size makes it unfit
            return Check(rule, False, f"{name}, {dims}: {type(error).__name__}: {error}"[:300])
        if nonfinite(answer):
            return Check(rule, False, f"{name}, {dims}: NaN or infinity")
    return Check(rule, True)
