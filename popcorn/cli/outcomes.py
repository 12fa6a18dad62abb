"""Each outcome in plain words, and what to do next. The only place that words them."""

from popcorn.schema.verdict import Miss, Outcome, Verdict

WORDS: dict[Outcome, str] = {
    "correct": "correct",
    "wrong_shape": "wrong: the output has another shape or structure",
    "wrong_dtype": "wrong: the output has another element type",
    "wrong_values": "wrong: the values are too far from the truth",
    "nonfinite": "wrong: NaN or infinity where the truth is finite",
    "not_deterministic": "wrong: the same inputs gave two answers",
    "mutated_inputs": "wrong: it changed its inputs",
    "cheated": "cheated",
    "compile_error": "does not compile",
    "runtime_error": "failed while it ran",
    "out_of_memory": "ran out of memory",
    "timeout": "took too long",
    "crash": "crashed",
    "rejected": "does not accept this case",
    "invalid_reference": "the problem itself cannot be judged",
    "harness_error": "not judged, by a fault of Popcorn's",
}
"""Outcome → what it means."""

NEXT_STEPS: dict[Outcome, str] = {
    "correct": "nothing to mend; to make it faster, look at the speed of light and the launches.",
    "wrong_shape": "return the same structure, shapes and devices as the problem's Model; see `popcorn problems show {problem}`.",
    "wrong_dtype": "return the element types of the problem's Model; cast at the end, not the inputs.",
    "wrong_values": "compare with the Model on small inputs, element by element.",
    "nonfinite": "look for a division by zero, an overflow in exp, or memory that was never written.",
    "not_deterministic": "look for a race: a missing barrier, or memory that is read before it is written.",
    "mutated_inputs": "write to a fresh tensor; the caller still needs its inputs.",
    "cheated": "do the work in every call, and leave clocks, streams and the harness alone.",
    "compile_error": "mend the first error above; a Python file needs class ModelNew, a .c, .cpp or .cu file popcorn_forward.",
    "runtime_error": "mend the line named above, where one is; forward takes the inputs of get_inputs(), __init__ those of get_init_inputs().",
    "out_of_memory": "use less workspace, or a smaller block; the reference fits in this memory.",
    "timeout": "look for an endless loop or a deadlock between threads; tiny grids and serial loops are slow, too.",
    "crash": "look for an index out of bounds, at the edges first.",
    "rejected": "choose another --precision, --device or problem, or let the candidate accept this one.",
    "invalid_reference": "mend the problem: `popcorn problems check {problem}` says what is wrong with it.",
    "harness_error": "it does not count; run it again, and `popcorn doctor` if it stays.",
}
"""Outcome → the next step, with the problem's id where `{problem}` stands."""

OF_DEFENCES = {
    "aliasing": "return a tensor of its own from every call: no view of an input, no buffer that is used again.",
    "peak_memory": "allocate outputs in the call, through torch; memory that is kept from call to call is no result.",
}
"""Defence → the next step, where it says more than the outcome."""

OF_RULES = {
    "static": ("refused before it was built", "take out what that line does; `popcorn check FILE` lists every finding."),
    "track": ("refused: a library does the work", "do that work in a kernel of your own, or leave --track custom out."),
}
"""Rule → heading and next step."""

FEW, NEARLY_ALL = 0.02, 0.5
"""Shares of elements that are off."""
LITTLE, TIMES = 0.1, 100.0
"""An error that still is a matter of precision: half precision inside, or a small term. Records that do not know it tell how often the bound."""


def heading(verdict: Verdict) -> str:
    """The outcome in words, where a rule or a defence says more than its kind."""
    if verdict.rule is not None:
        return OF_RULES[verdict.rule][0]
    if verdict.outcome == "wrong_values" and any(one.defence == "aliasing" for one in verdict.violations):
        return "wrong: the output has no memory of its own"
    return WORDS[verdict.outcome]


def next_step(verdict: Verdict, problem: str) -> str:
    """The next step, by the defences that found something, then by what else is known."""
    known = next((OF_DEFENCES[one.defence] for one in verdict.violations if one.defence in OF_DEFENCES), None)
    return (known or _of_outcome(verdict, problem)).replace("{problem}", problem)


def _of_outcome(verdict: Verdict, problem: str) -> str:
    usual = NEXT_STEPS[verdict.outcome]
    if verdict.rule is not None:
        return OF_RULES[verdict.rule][1]
    if verdict.miss is not None:
        return _of_miss(verdict.miss)
    if verdict.outcome == "crash" and problem.startswith("popcorn/"):
        return f"{usual.removesuffix('.')}; sizes change from trial to trial."
    return usual


def _of_miss(miss: Miss) -> str:
    """Unwritten, a few at the edges, nearly all by a little, or simply something else."""
    if miss.unwritten:
        return "write every element: a grid, the end of a loop or a mask leaves out the one named above."
    if miss.off_share <= FEW:
        return "few elements are off: begin at the one named above, and look at edges, masks and the last block."
    if miss.off_share >= NEARLY_ALL and (miss.times_bound <= TIMES if miss.largest is None else miss.largest <= LITTLE):
        return (
            "nearly all are off by a little, which is precision, or a small term or factor (eps, n - 1): compute in the problem's element type or a wider one, "
            "sum in parts, and round once, at the end."
        )
    return "compare with the Model on small inputs, beginning at the element named above: a term, an axis or an index is another."
