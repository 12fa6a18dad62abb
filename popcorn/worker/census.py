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


def main_thread_s(pid: int) -> tuple[float, float]:
    """Seconds that a process's first thread ran, and that it waited for a core while it could have run; 0 where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError):
        ran, waited = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[:2]
        return int(ran) * 1e-9, int(waited) * 1e-9
    return 0.0, 0.0


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on: its name, which may hold anything and need be no text, stands before."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def born(pid: int) -> str | None:
    """When a process began, in clock ticks since the machine did: no clock that is set moves it. None where there is no such process, or no /proc."""
    try:
        return _stat(pid)[19]
    except (OSError, IndexError):
        return None


def reaped_s(pid: int) -> float:
    """Processor seconds of children that it has waited for, in steps of 10 ms."""
    with contextlib.suppress(OSError):
        fields = _stat(pid)
        return (int(fields[13]) + int(fields[14])) * _TICK_S  # cutime, cstime
    return 0.0


def beside(pid: int) -> tuple[set[int], tuple[str, ...]]:
    """Children of the process's parent, to whom comes whoever leaves the tree, and the accounts of those that the parent has reaped."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        parent = int(_stat(pid)[1])
        fields = _stat(parent)
        children = {int(each) for task in Path(f"/proc/{parent}/task").iterdir() for each in (task / "children").read_text().split()}
        return children, (fields[8], fields[10], fields[13], fields[14])  # minor and major faults, user and system time of the reaped
    return set(), ()


def last_born() -> str:
    """The number that the latest process or thread of this machine (or container) was given: another one when any was born since. Empty without /proc."""
    with contextlib.suppress(OSError, IndexError):
        return Path("/proc/loadavg").read_text().split()[4]
    return ""


def faults_of(pid: int) -> int:
    """Fresh pages that a process has met so far: each costs it a part of a microsecond, by nobody's doing but the memory's; 0 when it is gone."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(_stat(pid)[7])
    return 0


class Census:
    """Processor time of a tree since this was made; a process that joined later counts in full, one that left as far as it was reaped."""

    def __init__(self, pid: int):
        self._root = pid
        self._before = {each: processor_s(each) for each in tree_of(pid)}
        self._reaped_s = reaped_s(pid)
        self._main = main_thread_s(pid)
        self._beside = beside(pid)
        self._last_born = last_born()
        self._faults = faults_of(pid)

    def faults(self) -> int:
        """Fresh pages that the root met so far."""
        return max(0, faults_of(self._root) - self._faults)

    def cpu_s(self) -> float:
        """Seconds so far."""
        now = {each: processor_s(each) for each in tree_of(self._root)}
        used = sum(max(0.0, seconds - self._before.get(each, 0.0)) for each, seconds in now.items())
        return used + max(0.0, reaped_s(self._root) - self._reaped_s)

    def waited_s(self) -> float:
        """Seconds so far that the first thread waited for a core, less what its own helpers worked: those it may have let go first, and a
        helper of low priority that waits all the time says nothing. What is left is the machine's doing, not the tree's. 0 where a process
        came or went meanwhile, in the tree or beside it: it may have been let go first as well, and nobody knows how long it worked. Of a child that is
        reaped steps of 10 ms are told, of one that nobody waits for nothing, and who made it sees to it that it is gone: so anybody's birth will do."""
        children, reaped = beside(self._root)
        gone = self._before.keys() - {*tree_of(self._root)}
        if gone or last_born() != self._last_born or reaped != self._beside[1] or children - self._beside[0]:
            return 0.0
        ran_s, waited_s = (now - before for now, before in zip(main_thread_s(self._root), self._main, strict=True))
        return max(0.0, waited_s - max(0.0, self.cpu_s() - ran_s))

    def helped_s(self, wall_s: float) -> float:
        """Of so many seconds, those in which helpers worked and the first thread did not: all that they worked, as far as it had not its core."""
        ran_s = main_thread_s(self._root)[0] - self._main[0]
        return min(max(0.0, self.cpu_s() - ran_s), max(0.0, wall_s - ran_s))
