"""Engine: who carries out evaluations. Ask it, get a future of a record. local.py is the one that is always there."""

from concurrent.futures import Future
from typing import Protocol

from popcorn.schema.record import Record
from popcorn.worker.request import Request


class Engine(Protocol):
    """Anything that turns requests into records: this machine, a cluster, a service."""

    def submit(self, request: Request) -> "Future[Record]":
        """The evaluation's future. Bad input raises PopcornError through it; whatever a candidate does is a record."""

    def close(self) -> None:
        """End every process that this engine started."""
