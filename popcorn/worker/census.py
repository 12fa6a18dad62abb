"""Census: a process and all its descendants, and the processor time they use, from the kernel's accounts. Linux; free of torch."""

import contextlib
import os
import time
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tree_of(pid: int) -> list[int]:
    """The process and every descendant that the kernel still counts as such, whatever its session or group."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += [int(text) for text in (task / "children").read_text().split()]
    return found


def processor_s(pid: int) -> float:
    """Processor seconds of all threads of a process, dead ones too; 0 when it is gone."""
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3)
    return 0.0


def main_thread_s(pid: int) -> float:
    """Processor seconds of a process's first thread; 0 where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) * 1e-9
    return 0.0


def reaped_s(pid: int) -> float:
    """Processor seconds of children that it has waited for, in steps of 10 ms."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) * _TICK_S  # cutime, cstime
    return 0.0


def waiting_s(pid: int) -> dict[str, float]:
    """Seconds that each thread of a process and its descendants has waited for a core while it could have run."""
    found = {}
    for each in tree_of(pid):
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                with contextlib.suppress(OSError, IndexError):
                    found[task.name] = int((task / "schedstat").read_text().split()[1]) * 1e-9
    return found


class Census:
    """Processor time of a tree since this was made; a process that joined later counts in full, one that left as far as it was reaped."""

    def __init__(self, pid: int):
        self._root = pid
        self._before = {each: processor_s(each) for each in tree_of(pid)}
        self._reaped_s = reaped_s(pid)
        self._waiting = waiting_s(pid)

    def cpu_s(self) -> float:
        """Seconds so far."""
        now = {each: processor_s(each) for each in tree_of(self._root)}
        used = sum(max(0.0, seconds - self._before.get(each, 0.0)) for each, seconds in now.items())
        return used + max(0.0, reaped_s(self._root) - self._reaped_s)

    def waited_s(self) -> float:
        """Seconds so far that the thread which waited longest for a core lost by it: the machine's doing, not the tree's."""
        return max((seconds - self._waiting.get(task, 0.0) for task, seconds in waiting_s(self._root).items()), default=0.0)
