"""The local engine with a stand-in for the main path: order, concurrency, errors."""

import threading
import time

import pytest

from popcorn.errors import BadCandidate
from popcorn.worker.lanes import WorkLane
from popcorn.worker.local import LocalEngine


class StandIn:
    """A bench with a real device lane and no processes."""

    def __init__(self):
        self.device_lane = WorkLane("device", 1)
        self.closed = False

    def close(self):
        self.closed = True
        self.device_lane.close()


def test_requests_build_side_by_side_and_use_the_device_one_after_another():
    building, together, on_device, overlaps = set(), [], [], []

    def evaluate(request, bench):
        building.add(request)
        together.append(len(building))
        time.sleep(0.05)
        building.discard(request)

        def measure():
            on_device.append(request)
            overlaps.append(len(on_device))
            time.sleep(0.02)
            on_device.remove(request)
            return request

        return bench.device_lane.run(measure)[0]

    bench = StandIn()
    engine = LocalEngine(bench, evaluate, width=3)
    futures = [engine.submit(name) for name in "abc"]
    assert [future.result(5) for future in futures] == ["a", "b", "c"]
    engine.close()
    assert max(together) == 3 and max(overlaps) == 1 and bench.closed


def test_a_mistake_reaches_the_one_who_asked_and_the_next_request_is_served():
    def evaluate(request, bench):
        if request == "bad":
            raise BadCandidate("the file is empty; write a kernel into it")
        return request

    engine = LocalEngine(StandIn(), evaluate, width=1)
    bad, good = engine.submit("bad"), engine.submit("good")
    with pytest.raises(BadCandidate, match="empty"):
        bad.result(5)
    assert good.result(5) == "good"
    engine.close()


def test_closing_drops_what_waits_and_finishes_what_runs():
    release = threading.Event()
    engine = LocalEngine(StandIn(), lambda request, bench: release.wait(5) and request, width=1)
    running, waiting = engine.submit("first"), engine.submit("second")
    threading.Timer(0.05, release.set).start()
    engine.close()
    assert running.result(5) == "first" and waiting.cancelled()
