"""From what a session knows to a record: ids, hashes, provenance."""

import functools
import hashlib
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from popcorn import __version__
from popcorn.schema.case import Case
from popcorn.schema.measurement import Measurement
from popcorn.schema.record import Build, Lane, Provenance, Record, Subject
from popcorn.schema.verdict import Verdict
from popcorn.worker.session import Session


def candidate_hash(source: str) -> str:
    """16 hex digits of the text's SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def case_of(session: Session) -> Case:
    """The case that was timed."""
    request = session.request
    return Case(
        dims=session.nominal, precision=request.precision, scalars=request.scalars, layout=request.layout, gradient=request.gradient
    )


def finish(session: Session, verdict: Verdict, build: Build, measurement: Measurement, lanes: dict[str, Lane], wall_s: float) -> Record:
    """The record of a candidate's evaluation."""
    request = session.request
    subject = Subject(
        problem=request.problem.id,
        problem_hash=request.problem.hash,
        implementation=request.implementation or "candidate",
        candidate_hash=session.candidate_hash,
        language=request.language,
        name=request.name,
        source=request.source,
        reference=request.problem.source,
    )
    kind: Literal["evaluation", "op"] = "evaluation" if request.implementation is None else "op"
    if not request.name.endswith(".py"):
        verdict, build = in_its_file(verdict, build, Path(request.name).name)
    return make_record(session, kind, subject, verdict, build, measurement, lanes, wall_s)


def in_its_file(verdict: Verdict, build: Build, name: str) -> tuple[Verdict, Build]:
    """The same where messages name the candidate's file: a native text is built as kernel.c, .cpp or .cu, and its writer knows it by another name."""

    def told(text: str | None) -> str | None:
        return text and re.sub(r"\bkernel\.(?:c|cpp|cu)(?=[:(]|$)", lambda _: name, text)

    diagnostics = tuple(one.model_copy(update={"file": told(one.file)}) for one in build.diagnostics)
    return (
        verdict.model_copy(update={"reason": told(verdict.reason)}),
        build.model_copy(update={"reason": told(build.reason), "diagnostics": diagnostics}),
    )


def make_record(
    session: Session,
    kind: Literal["evaluation", "baseline", "op"],
    subject: Subject,
    verdict: Verdict,
    build: Build,
    measurement: Measurement,
    lanes: dict[str, Lane],
    wall_s: float | None,
) -> Record:
    """A record with its id and where it came from."""
    made = datetime.now(UTC).isoformat(timespec="microseconds")
    text = "/".join([subject.problem_hash, subject.candidate_hash or subject.implementation, case_of(session).id, session.commitment, made])
    identity = hashlib.sha256(text.encode()).hexdigest()[:16]
    machine = session.bench.machine_with_ceilings()
    return Record(
        kind=kind,
        id=identity,
        subject=subject,
        case=case_of(session),
        machine=machine,
        verdict=verdict,
        build=build,
        measurement=measurement,
        provenance=Provenance(
            made=made,
            harness=__version__,
            git_sha=git_sha(),
            seed_commitment=session.commitment,
            seed=session.secret,
            sizes=session.request.sizes,
            node=machine.host,
            command=f"popcorn rerun {identity}",
            build_lane=lanes.get("build", Lane()),
            device_lane=lanes.get("device", Lane()),
            wall_s=wall_s,
            asked=session.request.asked if kind != "baseline" else None,
        ),
    )


@functools.cache
def git_sha() -> str | None:
    """Commit of the harness, with `-dirty` when files differ from it; None outside a checkout."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        sha = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=folder, capture_output=True, text=True, timeout=10)
        dirty = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return sha.stdout.strip() + ("-dirty" if dirty.stdout.strip() else "") or None
