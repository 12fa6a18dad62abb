"""Each outcome in plain words, and what to do next. The only place that words them."""

from collections.abc import Iterable

from popcorn.schema.verdict import Outcome

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
    "wrong_values": "compare with the Model on small inputs; long float32 sums drift, so sum in parts or in double; subtract the maximum before exp.",
    "nonfinite": "look for a division by zero, an overflow in exp, or memory that was never written.",
    "not_deterministic": "look for a race: a missing barrier, or memory that is read before it is written.",
    "mutated_inputs": "write to a fresh tensor; the caller still needs its inputs.",
    "cheated": "do the work in every call, and leave clocks, streams and the harness alone.",
    "compile_error": "mend the first error above; a Python file needs class ModelNew, a .c, .cpp or .cu file popcorn_forward.",
    "runtime_error": "mend the line named above; forward takes the inputs of get_inputs(), __init__ those of get_init_inputs().",
    "out_of_memory": "use less workspace, or a smaller block; the reference fits in this memory.",
    "timeout": "look for an endless loop or a deadlock between threads; tiny grids and serial loops are slow, too.",
    "crash": "look for an index out of bounds; sizes change from trial to trial.",
    "rejected": "choose another --precision, --device or problem, or let the candidate accept this one.",
    "invalid_reference": "mend the problem: `popcorn problems check {problem}` says what is wrong with it.",
    "harness_error": "it does not count; run it again, and `popcorn doctor` if it stays.",
}
"""Outcome → the next step, with the problem's id where `{problem}` stands."""


OF_DEFENCES = {
    "aliasing": "return a tensor of its own from every call: no view of an input, no buffer that is used again.",
    "static": "take out what that line does; `popcorn check FILE` lists every finding.",
    "peak_memory": "allocate outputs in the call, through torch; memory that is kept from call to call is no result.",
}
"""Defence → the next step, where it says more than the outcome."""


def next_step(outcome: Outcome, problem: str, defences: Iterable[str] = ()) -> str:
    """The next step for an outcome of this problem, by the defences that found something."""
    known = next((OF_DEFENCES[name] for name in defences if name in OF_DEFENCES), NEXT_STEPS[outcome])
    return known.replace("{problem}", problem)
