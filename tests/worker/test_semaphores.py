"""multiprocessing's locks, unnamed."""

import os
import subprocess
import sys
import threading

import pytest

from popcorn.worker.semaphores import UnnamedLock

RECURSIVE, SEMAPHORE = 0, 1


def lock(kind: int = SEMAPHORE, value: int = 1, most: int = 1) -> UnnamedLock:
    return UnnamedLock(kind, value, most, "/ignored", True)


def test_a_lock_is_taken_once_and_given_back() -> None:
    one = lock()
    assert one.acquire() and not one.acquire(False) and not one.acquire(True, 0.01)
    one.release()
    with one:
        assert one._is_zero() and one._count() == 1
    with pytest.raises(ValueError, match="too many times"):
        one.release()


def test_a_recursive_lock_is_its_threads_own() -> None:
    one = lock(RECURSIVE)
    assert one.acquire() and one.acquire()
    taken: list[bool] = []
    other = threading.Thread(target=lambda: taken.append(one.acquire(False)))
    other.start()
    other.join()
    assert taken == [False]
    one.release()
    one.release()
    with pytest.raises(AssertionError):
        one.release()


def test_a_forked_process_waits_for_the_same_lock() -> None:
    one = lock(value=0)
    child = os.fork()
    if child == 0:
        one.release()
        os._exit(0)
    assert one.acquire(True, 60.0)
    assert os.waitpid(child, 0)[1] == 0


def test_pools_and_queues_of_multiprocessing_work_with_them() -> None:
    text = (
        "import multiprocessing as m\nfrom multiprocessing.pool import ThreadPool\nfrom popcorn.worker.semaphores import give_locks\n"
        "give_locks()\nprint(sum(ThreadPool(2).map(abs, range(10))))\nq = m.get_context('fork').Queue()\nq.put(7)\nprint(q.get(timeout=60))\n"
        "with m.get_context('fork').Pool(2) as pool:\n    print(pool.map(abs, [-1, -2]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert ran.stdout.split() == ["45", "7", "[1,", "2]"], ran.stderr
