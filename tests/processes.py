"""What runs, asked of the system: a process may end between being listed and being asked."""

import time
from collections.abc import Iterable

import psutil


def runs(process: psutil.Process) -> bool:
    """Whether it still runs (a zombie does not: it holds nothing)."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def family(processes: Iterable[psutil.Process]) -> set[int]:
    """The pids of `processes` and of all that descend from them."""
    pids = set()
    for one in processes:
        pids.add(one.pid)
        try:
            pids.update(child.pid for child in one.children(recursive=True))
        except psutil.NoSuchProcess:
            continue
    return pids


def gone(pid: int, within_s: float = 30.0) -> bool:
    """True as soon as no such process runs; False when it still does after `within_s`."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            if not runs(psutil.Process(pid)):
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False
