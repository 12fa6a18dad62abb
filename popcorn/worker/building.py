"""Building alone: a candidate through the build lane, nothing judged, no record. Imports no torch."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from popcorn.schema.record import Build, Lane
from popcorn.schema.verdict import Verdict
from popcorn.worker.bench import Bench
from popcorn.worker.refused import Refused
from popcorn.worker.request import Request
from popcorn.worker.session import Session
from popcorn.worker.writing import candidate_hash


@dataclass(frozen=True)
class Built:
    """What became of a text in the build lane."""

    build: Build
    """Seconds, key, compiler messages."""
    lane: Lane
    """How long it waited and worked."""
    refused: Verdict | None = None
    """Why there is nothing to load; None when it was built and imported."""
    libraries: tuple[Path, ...] = ()
    """Shared libraries that were built, for whoever wants to read their instructions. The parent never loads them."""


def run_build(session: Session) -> tuple[Build, Lane]:
    """Build in the build lane. A text that was built on this bench before passes by it: nobody waits for another's compiler to find a
    finished build. Raises Refused."""
    bench = session.bench
    if session.candidate_hash in bench.built:
        began = time.monotonic()
        return session.build(), Lane(run_s=time.monotonic() - began)
    built = bench.build_lane.run(session.build)
    bench.built.add(session.candidate_hash)
    return built


def build_candidate(request: Request, bench: Bench, progress: Callable[[str], None] = lambda _: None) -> Built:
    """Compile and import one candidate, and no more: the device lane is not entered, nothing is judged, no record is written."""
    with Session(bench, request, request.problem.hash, candidate_hash(request.source), progress) as session:
        try:
            build, lane = run_build(session)
        except Refused as refused:
            return Built(session.build_record(), getattr(refused, "lane", Lane()), refused.verdict())
        return Built(build, lane, libraries=_libraries(session))


def _libraries(session: Session) -> tuple[Path, ...]:
    """The native library, or the extensions that a Python module had built at import."""
    if session.built is not None and session.built.path is not None:
        return (session.built.path,)
    entries = session.bench.builds.folder / "entries"
    return tuple(path for build in session.builds if build.key for path in sorted((entries / build.key).glob("*.so")))
