"""Request: one evaluation as asked for, by a person, an agent, a search or a sweep."""

import functools
import hashlib
from typing import Literal

from popcorn import __version__
from popcorn.schema.case import Frozen, GradientMode, Layout, Precision
from popcorn.suites.problems import Problem


class Request(Frozen):
    """One candidate against one problem in one setting."""

    problem: Problem
    """The reference."""
    source: str
    """The candidate's text; for `implementation="compile"` it is empty."""
    language: str
    """torch, c, cpp, cuda, triton, …"""
    name: str
    """File name or title."""
    precision: Precision = "float32"
    """Element type of the case."""
    gradient: GradientMode = "none"
    """Forward alone, or with gradients."""
    layout: Layout = "contiguous"
    """How inputs lie in memory while they are timed; trials use others, too, where the problem allows."""
    scalars: dict[str, float | int | bool | str] = {}
    """Scalar arguments of an op's case."""
    implementation: str | None = None
    """Set for an op of the library: the registered implementation to judge. It is code of ours or of an installed library, and is loaded by name, without
    a sandbox; `source` is then its text for the record. None: `source` is a candidate."""
    op_file: str | None = None
    """The Python file that declares a user's own op."""
    device: str = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:1`."""
    budget_s: float = 2.0
    """Seconds for taking turns; what comes before and after is extra."""
    timeout_s: float = 60.0
    """Longest that one command to the candidate may take."""
    first_call_timeout_s: float | None = None
    """Longest that a process's first call may take, which may tune itself; None: three times `timeout_s`."""
    build_timeout_s: float = 300.0
    """Longest that a build may take."""
    trials: int = 8
    """Correctness trials; at least 5."""
    timing: bool = True
    """False: judge only."""
    compile_baseline: bool = True
    """Also measure the reference under torch.compile, once per problem and machine."""
    counters: bool = True
    """Hardware counters where the machine has them."""
    energy: bool = True
    """Energy where the machine can measure it."""
    sizes: Literal["any", "open", "held_out"] = "any"
    """Which sizes trials draw where a problem allows others than its own: `held_out` is a quarter that `open` never draws, so that who was judged
    with `open` again and again meets sizes never seen at the end. `any`: all of them."""
    track: Literal["any", "custom"] = "any"
    """`custom`: rejected where, by the census of a call, a library does the work."""
    static_gate: bool = True
    """Refuse a text that does what no kernel needs before it is built. False for the audit alone, which shows what holds without reading texts."""
    control: bool = True
    """A/A and planted-slowdown controls in the same run."""
    world: int | None = None
    """Processes of a problem of communication; None: every GPU, or two on a machine without."""
    seed: str | None = None
    """Secret seed of an earlier record, to repeat it; None draws a fresh one."""

    @property
    def first_call_s(self) -> float:
        """Seconds that a first call has."""
        return self.first_call_timeout_s or 3 * self.timeout_s

    @functools.cached_property
    def asked(self) -> str:
        """16 hex digits of everything that changes the answer's meaning: all fields but the device, the seed and where the problem's file lies, and
        Popcorn's version. The device is the record's own business."""
        dumped = self.model_dump(mode="json", exclude={"device", "seed", "problem", *(() if self.world else ("world",))})
        text = repr((sorted(dumped.items(), key=lambda pair: pair[0]), self.problem.id, self.problem.hash, __version__))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
