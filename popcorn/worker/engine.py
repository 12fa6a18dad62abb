"""Engine: who carries out evaluations. Ask it, get a future of a record. local.py is the one that is always there."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from concurrent.futures import Future

    from popcorn.schema.record import Record
    from popcorn.worker.building import Built
    from popcorn.worker.request import Request


class Engine(Protocol):
    """Anything that turns requests into records: this machine, a cluster, a service."""

    def submit(self, request: "Request") -> "Future[Record]":
        """The evaluation's future. Bad input raises PopcornError through it; whatever a candidate does is a record."""

    def build(self, request: "Request") -> "Future[Built]":
        """Compile and import only, in the build lane; no record. Builds are kept by content, so a later `submit` finds it."""

    def close(self) -> None:
        """End every process that this engine started."""
