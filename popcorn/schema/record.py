"""Record: subject × case × machine × verdict × measurement. One JSON line; says everything needed to run it again."""

from typing import Literal

from pydantic import Field, model_validator

from popcorn.schema.case import Case, Frozen
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Measurement
from popcorn.schema.verdict import Diagnostic, Verdict

SCHEMA_VERSION = 1


class Subject(Frozen):
    """What was judged, and against what."""

    problem: str
    """Problem or op id: `popcorn/L1/29`, `rms_norm`, or a path for a foreign file."""
    problem_hash: str
    """SHA-256 of the reference source, 16 hex digits. Results of different hashes never mix."""
    implementation: str
    """`candidate`, `eager`, `compile`, or a backend's name."""
    candidate_hash: str | None = None
    """SHA-256 of the candidate's text, 16 hex digits."""
    language: str
    """torch, c, cpp, cuda, triton, tilelang, cute, …"""
    name: str | None = None
    """File name or title, for people."""
    source: str | None = None
    """The candidate's text in full."""
    reference: str | None = None
    """The reference's text in full, as used."""


class Build(Frozen):
    """How the candidate's text became something that can be called."""

    build_s: float | None = None
    """Seconds of building; 0 from the cache."""
    cached: bool = False
    """True when the build of the same text was found."""
    key: str | None = None
    """Content key of the build."""
    tier: str | None = None
    """Header tier that compiled: stable, per-operator, full; None where there is none."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Compiler messages."""
    reason: str | None = None
    """For people, when it failed."""


class Lane(Frozen):
    """Waiting and working in one lane."""

    queue_s: float = 0.0
    """Seconds in the queue."""
    run_s: float = 0.0
    """Seconds at work."""


class Provenance(Frozen):
    """Who made the record, when, and from which seeds."""

    made: str
    """UTC, ISO 8601."""
    harness: str
    """Version of Popcorn."""
    git_sha: str | None = None
    """Commit of the harness; None outside a checkout."""
    seed_commitment: str | None = None
    """SHA-256 of the secret seed, made before the candidate ran."""
    seed: str | None = None
    """The secret seed, kept so that the run can be repeated; the candidate never had it."""
    sizes: Literal["any", "open", "held_out"] | None = None
    """Which sizes the trials drew: all of them, those that agents' tools draw, or those held out; None in older records."""
    engine: str = "local"
    """local, slurm, ray, http."""
    node: str | None = None
    """A short hash of the node's name."""
    command: str | None = None
    """Command that repeats it."""
    build_lane: Lane = Lane()
    """Time in the build lane."""
    device_lane: Lane = Lane()
    """Time in the device lane."""
    wall_s: float | None = None
    """From asking to record."""
    asked: str | None = None
    """SHA-256 of all that was asked (text, problem, setting, budgets, version), 16 hex digits: the same question can be answered by this record."""


class Record(Frozen):
    """One judged and measured subject. No speed without a pass: the type refuses it."""

    schema_version: int = SCHEMA_VERSION
    """Version of this line; older lines are migrated when read."""
    kind: Literal["evaluation", "baseline", "op"] = "evaluation"
    """A candidate's evaluation, a baseline's own timing, or an op implementation's row."""
    id: str
    """Stable id of this record: 16 hex digits."""
    subject: Subject
    """What."""
    case: Case
    """In which setting."""
    machine: Machine
    """Where."""
    verdict: Verdict
    """Right?"""
    build: Build = Build()
    """How it was built."""
    measurement: Measurement = Field(default_factory=Measurement)
    """How good."""
    provenance: Provenance
    """By whom, when, from what."""

    @model_validator(mode="after")
    def _no_speed_without_a_pass(self) -> "Record":
        if self.measurement.timing is not None and not self.verdict.correct:
            raise ValueError(f"a record that is {self.verdict.outcome!r} cannot hold a timing")
        return self
