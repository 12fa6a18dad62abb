"""What travels over the wire: bodies and answers, each with its limits. OpenAPI is made of these."""

from typing import Annotated, Literal

from fastapi import Path as InPath
from pydantic import Field

from popcorn.errors import BadCandidate, PopcornError
from popcorn.schema.case import Frozen, GradientMode, Layout, Precision
from popcorn.schema.record import Record
from popcorn.schema.verdict import Outcome
from popcorn.suites.problems import Problem, list_problems
from popcorn.toolchain.languages import SUFFIX, detect_language, is_python
from popcorn.worker.request import Request

MAX_SOURCE = 256_000
MAX_BATCH = 64
State = Literal["waiting", "done", "failed"]
Identity = Annotated[str, InPath(pattern=r"^[0-9a-f]{16}$", description="16 hex digits, as the submission was answered.")]


class Question(Frozen):
    """One kernel against one problem."""

    problem: str = Field(pattern=r"^(popcorn|original)/L[1-9]/[0-9]{1,4}$", examples=["original/L1/36"])
    """A problem that ships with Popcorn."""
    source: str
    """The kernel's whole text. One that cannot be judged (empty, over 256,000 characters, in another language) is `rejected`, with a reward of 0."""
    language: Literal["cuda", "triton", "tilelang", "cute", "cpp", "c", "sycl", "torch"] | None = None
    """None: read off a Python text; a native one is `cuda`."""
    precision: Precision = "float32"
    gradient: GradientMode = "none"
    """`grad`: with gradients."""
    layout: Layout = "contiguous"
    sizes: Literal["any", "open", "held_out"] = "any"
    """`held_out`: sizes that no other question draws."""
    track: Literal["any", "custom"] = "any"
    """`custom`: rejected where a library does the work."""
    budget_s: float = Field(default=2.0, gt=0, le=60)
    """Seconds of taking turns with the reference."""
    call_timeout_s: float = Field(default=60, ge=1, le=600)
    """Longest that a command to the kernel may take; its first call, which may tune itself, gets three times this."""
    trials: int = Field(default=8, ge=5, le=64)
    timing: bool = True
    """False: judge only."""
    control: bool = True
    unofficial: bool = False
    """A late or outside submission: verified anew here, kept apart from the store that ranks and figures read, and shown as unofficial."""


class Batch(Frozen):
    """Several questions at once."""

    questions: list[Question] = Field(min_length=1, max_length=MAX_BATCH)


class Result(Frozen):
    """What came out."""

    record: str | None
    """Id of the record; None for a text that was rejected unread."""
    outcome: Outcome
    reason: str | None = None
    speedup: float | None = None
    """Over eager; None without a pass or without a time."""
    low: float | None = None
    """Of the 95 % interval."""
    high: float | None = None
    time_s: float | None = None
    fit: bool | None = None
    """False: the machine's own controls failed, so the time is in doubt."""
    reward: float
    """The speedup; 0 for anything that is not correct."""
    reward_bounded: float
    """max(0, 1 − 1.05/speedup): below 1, and 0 for what is not at least 5 % faster."""
    official: bool = True


class Evaluation(Frozen):
    """One submission as it stands."""

    id: str
    state: State
    problem: str
    result: Result | None = None
    error: str | None = None
    """Why it failed, by no fault of the kernel's."""


class Evaluations(Frozen):
    """A batch as it stands, in its order."""

    evaluations: list[Evaluation]


class Statistics(Frozen):
    """The service's own figures since it started."""

    uptime_s: float
    devices: list[str]
    asked: int
    remembered: int
    """Of these, answered from what was known."""
    cache_hit_rate: float | None
    evaluations: int
    """New ones that ended."""
    evaluations_per_hour_per_device: float
    waiting: int


class Refusal(Frozen):
    """Why a request was not taken."""

    detail: str


def find_shipped(identity: str) -> Problem:
    """A shipped problem; never a path of this machine. Raises KeyError."""
    for one in list_problems():
        if one.id == identity:
            return one
    raise KeyError(identity)


def request_of(question: Question, problem: Problem) -> Request:
    """As engines take it. Raises BadCandidate for a text that is empty, too long, or not in its language."""
    if len(question.source) > MAX_SOURCE:
        raise BadCandidate(f"the text has {len(question.source):,} characters; {MAX_SOURCE:,} are allowed")
    language = question.language or (None if is_python("kernel", question.source) else "cuda")
    native = language in SUFFIX and "import torch" not in question.source
    name = "kernel" + (SUFFIX[str(language)] if native else ".py")
    return Request(
        problem=problem, source=question.source, language=detect_language(name, question.source, language), name=name, precision=question.precision,
        gradient=question.gradient, layout=question.layout, sizes=question.sizes, track=question.track, budget_s=question.budget_s, timeout_s=question.call_timeout_s, trials=question.trials, timing=question.timing, control=question.control, compile_baseline=False, energy=False,
        counters=False,
    )  # fmt: skip


def result_of(record: Record, official: bool) -> Result:
    """A record as an answer."""
    timing = record.measurement.timing
    speedup = timing.speedup.value if timing else None
    plain = speedup or 0.0
    return Result(
        record=record.id, outcome=record.verdict.outcome, reason=(record.verdict.reason or None) and record.verdict.reason[:2000], speedup=speedup,
        low=timing.speedup.low if timing else None, high=timing.speedup.high if timing else None, time_s=timing.candidate.time_s if timing else None,
        fit=timing.control.fit if timing else None, reward=plain, reward_bounded=bounded(plain), official=official,
    )  # fmt: skip


def rejected(why: BadCandidate, official: bool) -> Result:
    """The answer to a text that cannot be judged."""
    return Result(record=None, outcome="rejected", reason=str(why)[:2000], reward=0.0, reward_bounded=0.0, official=official)


def bounded(speedup: float) -> float:
    """max(0, 1 − 1.05/speedup)."""
    return max(0.0, 1.0 - 1.05 / speedup) if speedup > 0 else 0.0


def said(error: Exception) -> str:
    """An error for the wire: our own sentences whole, anything else by its kind."""
    return str(error)[:500] if isinstance(error, PopcornError) else f"a fault of the service: {type(error).__name__}"
