"""An engine in front of another: what was asked before, word for word, is answered from the store. Twice at once is asked once.

Records say what was asked (`provenance.asked`), so an evaluation that finished is never repeated after a crash, whoever lost the answer. Only records of
this device count, none that the ledger condemns, and no fault of ours. A request that names its seed is always carried out.
"""

import threading
from concurrent.futures import Future

from popcorn.records.store import Store
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from popcorn.worker.building import Built
from popcorn.worker.engine import Engine
from popcorn.worker.request import Request
from popcorn.worker.writing import candidate_hash


def find_known(request: Request, store: Store, machine: Machine) -> Record | None:
    """The newest record of this very question on this kind of device; None where nobody asked it, or it names a seed."""
    if request.seed is not None:
        return None
    for record in store.find(problem=request.problem.id, candidate_hash=candidate_hash(request.source), condemned=False):
        here = record.machine.device_id == machine.device_id
        if here and record.provenance.asked == request.asked and record.verdict.outcome != "harness_error":
            return record
    return None


class RememberingEngine:
    """An Engine."""

    def __init__(self, engine: Engine, store: Store, machine: Machine):
        self.engine, self._store, self._machine = engine, store, machine
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Record]] = {}
        self.asked = 0
        """Requests so far."""
        self.remembered = 0
        """Of these, answered without a new evaluation."""

    @property
    def bench(self) -> object:
        """The inner engine's bench, where it has one."""
        return getattr(self.engine, "bench", None)

    def submit(self, request: Request) -> "Future[Record]":
        """The record that is there, the one under way, or a new one."""
        if request.seed is not None:
            return self.engine.submit(request)
        key = request.asked
        with self._lock:
            self.asked += 1
            under_way = self._under_way.get(key)
            if under_way is not None and not under_way.cancelled():
                self.remembered += 1
                return under_way
            found = find_known(request, self._store, self._machine)
            if found is not None:
                self.remembered += 1
                answer: Future[Record] = Future()
                answer.set_result(found)
                return answer
            future = self._under_way[key] = self.engine.submit(request)
        future.add_done_callback(lambda _: self._forget(key))
        return future

    def build(self, request: Request) -> "Future[Built]":
        """As the inner engine does: builds are kept by content already."""
        return self.engine.build(request)

    def close(self) -> None:
        """Close the inner engine."""
        self.engine.close()

    def _forget(self, key: str) -> None:
        with self._lock:
            self._under_way.pop(key, None)
