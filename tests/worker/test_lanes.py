"""The queues: strict arrival order, one measuring process a device, honest waiting times."""

import queue
import subprocess
import sys
import threading
import time

import pytest

from popcorn.worker.lanes import WorkLane


@pytest.fixture
def lane(tmp_path):
    made = WorkLane("device", 1, tmp_path / "device.lock")
    yield made
    made.close()


def test_a_device_lane_works_one_at_a_time_in_arrival_order(lane):
    order, at_once, most = [], [], []

    def work(number: int) -> int:
        at_once.append(number)
        most.append(len(at_once))
        time.sleep(0.002)
        at_once.remove(number)
        order.append(number)
        return number * number

    futures = [lane.submit(lambda n=n: work(n)) for n in range(30)]
    assert [future.result()[0] for future in futures] == [n * n for n in range(30)]
    assert order == list(range(30)) and max(most) == 1


def test_arrival_order_holds_for_askers_on_many_threads(lane):
    gate, order = threading.Event(), []
    lane.submit(gate.wait)
    threads = []
    for number in range(10):
        thread = threading.Thread(target=lambda n=number: lane.run(lambda: order.append(n)))
        thread.start()
        threads.append(thread)
        time.sleep(0.01)
    gate.set()
    for thread in threads:
        thread.join(5)
    assert order == list(range(10))


def test_waiting_and_working_are_told_apart(lane):
    first = lane.submit(lambda: time.sleep(0.2))
    second = lane.submit(lambda: time.sleep(0.1))
    (_, one), (_, two) = first.result(), second.result()
    assert one.queue_s < one.run_s and one.run_s >= 0.2
    assert two.queue_s >= 0.19 and two.run_s >= 0.1
    assert lane.usage.jobs == 2
    assert lane.usage.queue_s == pytest.approx(one.queue_s + two.queue_s) and lane.usage.run_s == pytest.approx(one.run_s + two.run_s)


def test_failing_work_passes_its_exception_on_counts_and_leaves_the_lane_free(lane):
    with pytest.raises(ZeroDivisionError):
        lane.run(lambda: 1 // 0)
    assert lane.run(lambda: "next")[0] == "next" and lane.usage.jobs == 2


def test_a_build_lane_works_several_at_once():
    lane = WorkLane("build", 3)
    meeting = threading.Barrier(3)
    futures = [lane.submit(lambda: meeting.wait(5)) for _ in range(3)]
    assert sorted(future.result()[0] for future in futures) == [0, 1, 2]
    lane.close()


def test_closing_finishes_what_runs_and_drops_what_waits(tmp_path):
    lane = WorkLane("device", 1, tmp_path / "lock")
    begun = threading.Event()

    def work() -> str:
        begun.set()
        time.sleep(0.1)
        return "done"

    running, waiting = lane.submit(work), lane.submit(lambda: "never")
    begun.wait(5)
    lane.close()
    assert running.result()[0] == "done" and waiting.cancelled()


_HOLDER = """
import sys, time
from pathlib import Path
from popcorn.worker.lanes import WorkLane
lane = WorkLane("device", 1, Path(sys.argv[1]))
def work():
    print("holding", time.monotonic(), flush=True)
    sys.stdin.readline()
    print("done", time.monotonic(), flush=True)
lane.run(work)
"""


def hold(lock) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("holding")
    return process


def test_two_processes_never_use_one_device_at_once(tmp_path):
    holder = hold(tmp_path / "device.lock")
    lane = WorkLane("device", 1, tmp_path / "device.lock")
    told: queue.Queue[str] = queue.Queue()
    future = lane.submit(time.monotonic, told.put)
    time.sleep(0.3)
    assert not future.done() and told.get(timeout=60) == f"another Popcorn, process {holder.pid},", "whoever waits says for whom"
    holder.stdin.write("\n")
    holder.stdin.flush()
    done = float(holder.stdout.readline().split()[1])
    began, lane_times = future.result(5)
    assert began >= done, "this process began before the other was done"
    assert lane_times.queue_s >= 0.3 and lane_times.run_s < lane_times.queue_s, "waiting for another process is waiting"
    holder.wait(5)
    lane.close()


def test_a_killed_process_gives_the_device_back(tmp_path):
    holder = hold(tmp_path / "device.lock")
    lane = WorkLane("device", 1, tmp_path / "device.lock")
    future = lane.submit(lambda: "mine")
    holder.kill()
    assert future.result(5)[0] == "mine"
    holder.wait()
    lane.close()


def test_lanes_of_other_devices_do_not_wait(tmp_path):
    holder = hold(tmp_path / "one.lock")
    lane = WorkLane("device", 1, tmp_path / "other.lock")
    assert lane.submit(lambda: "at once").result(5)[0] == "at once"
    holder.kill()
    holder.wait()
    lane.close()
