"""Verdict: is it right? One outcome of a closed set, with the evidence."""

from typing import Literal, get_args

from pydantic import Field

from popcorn.schema.case import Frozen

Outcome = Literal[
    "correct",
    "wrong_shape",
    "wrong_dtype",
    "wrong_values",
    "nonfinite",
    "not_deterministic",
    "mutated_inputs",
    "cheated",
    "compile_error",
    "runtime_error",
    "out_of_memory",
    "timeout",
    "crash",
    "rejected",
    "invalid_reference",
    "harness_error",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Group = Literal["correct", "wrong", "compile_fail", "timeout", "error"]

_GROUPS: dict[Outcome, Group] = {
    "correct": "correct",
    "wrong_shape": "wrong",
    "wrong_dtype": "wrong",
    "wrong_values": "wrong",
    "nonfinite": "wrong",
    "not_deterministic": "wrong",
    "mutated_inputs": "wrong",
    "cheated": "wrong",
    "compile_error": "compile_fail",
    "timeout": "timeout",
}

EXIT_CODES: dict[Outcome, int] = {
    "correct": 0,
    "wrong_shape": 10,
    "wrong_dtype": 11,
    "wrong_values": 12,
    "nonfinite": 13,
    "not_deterministic": 14,
    "mutated_inputs": 15,
    "cheated": 20,
    "compile_error": 30,
    "runtime_error": 31,
    "out_of_memory": 32,
    "timeout": 33,
    "crash": 34,
    "rejected": 40,
    "invalid_reference": 41,
    "harness_error": 50,
}
"""Exit code of `popcorn eval` for each outcome; 2 is kept for a mistake in the command itself."""


def group(outcome: Outcome) -> Group:
    """The five groups that figures show. `rejected`, `invalid_reference` and `harness_error` fall under `error`."""
    return _GROUPS.get(outcome, "error")


class Precision(Frozen):
    """Errors of one output (or gradient) against the truth in float64. `worst` and `bound` are of the trial that came nearest to its bound; all
    other figures are of one trial, so that they may be held against each other: the one that is furthest off for its scale, of the first and of
    every other that did not pass at first sight."""

    output: str
    """Which output: `out`, `out[0]`, `grad:x`, `grad:weight`, …"""
    max_abs_error: float | None = None
    """Largest |output − truth|, in the output's own unit."""
    mean_abs_error: float | None = None
    """Mean |output − truth|."""
    max_rel_error: float | None = None
    """Largest |output − truth| / (|truth| + floor × scale): means something near zero too."""
    mean_rel_error: float | None = None
    """Mean of the same ratio."""
    max_ulp: float | None = None
    """Largest distance in units of the last place, float32 outputs only."""
    cosine: float | None = None
    """Cosine between output and truth, both flattened."""
    scale: float | None = None
    """Root mean square of the truth."""
    reference_max_abs_error: float | None = None
    """Largest |reference − truth|: what the reference itself loses at this precision."""
    bound: float | None = None
    """The largest error that would have passed, in the unit of `worst`."""
    worst: float | None = None
    """The error that was held against `bound`: max |output − truth| / max(scale, |truth|)."""


class Violation(Frozen):
    """A rule of fair play that was broken, with what was seen."""

    defence: str
    """The defence that caught it, a module name under `popcorn/verify/defences/`."""
    evidence: str
    """What was observed, in one or two sentences with figures."""


class Miss(Frozen):
    """How the output that decided `wrong_values` is off: what kind of mistake to look for. Where it is off says the reason."""

    off_share: float
    """Share of its elements that are off by more than the floor, to two digits."""
    times_bound: float
    """The error that failed over the largest that would have passed."""
    largest: float | None = None
    """The largest error of an element, relative to the larger of its truth and the truth's rms, to two digits. None in older records."""
    unwritten: bool = False
    """Whether the worst element holds what fresh memory held."""


class Verdict(Frozen):
    """The answer to "is it right?". Made by the parent alone, from typed states, never from words in a message."""

    outcome: Outcome
    """One of the closed set; see docs/measuring.md."""
    reason: str | None = None
    """For people: what failed, where, expected and got. None when correct."""
    stage: Literal["build", "load", "correctness", "timing", "counting"] | None = None
    """Where it failed. None when correct."""
    miss: Miss | None = None
    """Of `wrong_values` in floating numbers; None in older records."""
    rule: Literal["static", "track"] | None = None
    """Of `rejected`: our own rule that refused it, the static check or the track that was asked for. None where the candidate or the problem refused."""
    trials_passed: int = 0
    """Trials whose every output (and gradient) was within its bound."""
    trials: int = 0
    """Trials judged; those that the reference itself could not decide are not counted."""
    trials_left_out: tuple[str, ...] = ()
    """Trials that could not decide anything, each with the reason (ill-conditioned, overflow in the reference)."""
    timed_outputs_judged: int = 0
    """Outputs of timed calls that were judged too."""
    timed_calls: int = 0
    """Timed calls of the candidate in all."""
    precision: tuple[Precision, ...] = ()
    """Worst errors per output over all trials."""
    truth_dtype: Literal["float64", "float32"] | None = None
    """The element type in which the truth was computed."""
    truth_reason: str | None = None
    """Why the truth is not float64, when it is not; else what was left out of the reference so that it is."""
    violations: tuple[Violation, ...] = ()
    """Why it is `cheated`; also kept beside other outcomes."""
    notes: tuple[str, ...] = ()
    """Remarks that change nothing (an input layout that the candidate refuses, …)."""
    defences_passed: tuple[str, ...] = ()
    """Checks of fair play that ran and found nothing."""

    @property
    def correct(self) -> bool:
        """True only for `correct`."""
        return self.outcome == "correct"


class Diagnostic(Frozen):
    """One message of a compiler, parsed."""

    file: str | None = None
    """Source file as the compiler named it, without its folder; the candidate's own as its writer named it."""
    line: int | None = Field(default=None, ge=1)
    """Line in that source."""
    severity: Literal["error", "warning", "note"] = "error"
    """As the compiler said."""
    message: str = ""
    """The message itself, one line."""
