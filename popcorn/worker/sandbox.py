"""What a candidate's process may not do, asked of the Linux kernel without being root.

Holds back: leaving the cores that it was given or the group that is stopped between commands (seccomp), reading or writing files outside the lists given (Landlock), every socket but a local one, tracing and reading other processes' memory
(seccomp, dropped capabilities), signalling processes outside (Landlock 6), other processes' limits and priorities (seccomp), siblings (seccomp), memory and queues that outlive
it (System V's and POSIX's, seccomp), unbounded files, processes and memory (rlimits). On a CPU it connects to nobody: a socket of a service in the
file system is no file to Landlock.
Since no session or group can be left, a helper "of its own session" is in its candidate's group: `os.killpg` of it would end the candidate, so a signal to a whole
group finds no process (`ProcessLookupError`). A helper is stopped by its own id (`Popen.terminate`).
Does not hold back: using the GPU beyond its turn, reading the machine's public files (/usr, /etc, /proc), timing side channels.
`enter` returns what it could not get, so that `doctor` and the record can say so.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
from pathlib import Path

from popcorn.devices.landlock import landlock_abi as landlock_abi
from popcorn.devices.landlock import restrict_files

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 38, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NAME = 36, 15

# socket; ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, bpf, perf_event_open, mount, userfaultfd, io_uring_setup (it opens sockets);
# shmget, semget, msgget, mq_open, add_key, request_key, keyctl (what they make is there when the process is gone)
_SYSCALLS = {
    "x86_64": (0xC000003E, 41, (101, 310, 311, 438, 321, 298, 165, 323, 425, 29, 64, 68, 240, 248, 249, 250)),
    "aarch64": (0xC00000B7, 198, (117, 270, 271, 438, 280, 241, 40, 282, 425, 194, 190, 186, 180, 217, 218, 219)),
}
_CONNECT = {"x86_64": 42, "aarch64": 203}
# prlimit64, sched_setscheduler, sched_setparam, sched_setattr: the process comes first, and 0 is the caller
_OF_PROCESS = {"x86_64": (302, 144, 142, 314), "aarch64": (261, 119, 118, 274)}
_SET_PRIORITY = {"x86_64": 141, "aarch64": 140}
_PRETENDED = {"x86_64": (203, 109, 112), "aarch64": (122, 154, 157)}
"""sched_setaffinity, setpgid, setsid: answered with success, and not done."""
_KILL, _NEGATIVE, _ESRCH = {"x86_64": 62, "aarch64": 129}, 0x80000000, 3
_CLONE, _CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
_CLONE_VM, _CLONE_VFORK, _CLONE_PARENT, _CLONE_THREAD = 0x100, 0x4000, 0x8000, 0x10000
_ENOSYS = 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_X32 = 0x40000000  # numbers from here on are x86_64's second table
_AF_UNIX = 1


def become_subreaper() -> None:
    """Orphaned grandchildren come to this process instead of init, so that none can hide."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """SIGKILL for this process when the process that forked it dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def call_process(name: str) -> None:
    """The name of this process as others see it (/proc/PID/comm), at most 15 characters."""
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def hide_memory() -> None:
    """No process of the same user may read this one's memory (/proc/PID/mem, ptrace)."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def show_memory() -> None:
    """Undo `hide_memory` for a child that must read its own /proc/self."""
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def go_first() -> None:
    """Where the machine runs out of memory the kernel ends this process and what it forks, rather than those that judge it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit_resources(memory_bytes: int | None, file_bytes: int, processes: int) -> None:
    """Caps address space (on top of what is mapped now), the size of any file written, and processes; no core dumps."""
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, file_bytes), (resource.RLIMIT_NPROC, processes)]
    if memory_bytes is not None:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limits.append((resource.RLIMIT_AS, mapped + memory_bytes))
    for which, amount in limits:
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (amount, amount) if hard == resource.RLIM_INFINITY or amount <= hard else (hard, hard))


def enter(
    readable: list[Path], writable: list[Path], fence_network: bool = True, filled: list[Path] | None = None, fence_services: bool = False
) -> list[str]:
    """Closes the sandbox for good. In the folders of `filled`, files that are there may be written, and none made; with `fence_services`
    no socket of the file system can be connected to either. Returns, as sentences, what this kernel could not give."""
    missing = []
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _drop_capabilities()
    if not restrict_files(readable, writable, filled or []):
        missing.append("files are not fenced: this kernel has no Landlock (Linux 5.13 or newer has it)")
    if fence_network and not _restrict_syscalls(fence_services):
        missing.append("the network is not fenced: this kernel refuses a seccomp filter")
    return missing


def _drop_capabilities() -> None:
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("<Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    _libc.capset(header, struct.pack("<6I", 0, 0, 0, 0, 0, 0))


def _restrict_syscalls(fence_services: bool = False) -> bool:
    known = _SYSCALLS.get(platform.machine())
    if known is None:
        return False
    arch, socket_number, denied = known

    def op(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, jump_true, jump_false, k)

    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse = op(answer, 0x7FFF0000), op(answer, 0x00050001)  # EPERM
    # a call by another architecture's table (int 0x80) has other numbers, so none of them is allowed
    program = [op(load, 4), op(equal, arch, 1, 0), refuse, op(load, 0)]
    program += [op(at_least, _X32, 0, 1), refuse]
    for number in (*denied, *((_CONNECT[platform.machine()],) if fence_services else ())):
        program += [op(equal, number, 0, 1), refuse]
    # another process's limits and scheduling, as a process of the same user could change them: refused where the process is not 0, the caller
    pid, which, who = 16, 16, 24
    for number in _OF_PROCESS[platform.machine()]:
        program += [op(equal, number, 0, 4), op(load, pid), op(equal, 0, 1, 0), refuse, allow]
    program += [
        op(equal, _SET_PRIORITY[platform.machine()], 0, 6),
        op(load, which),
        op(equal, 0, 0, 3),
        op(load, who),
        op(equal, 0, 0, 1),
        allow,
        refuse,
    ]
    # no siblings, and no process that works in this one's memory without being a thread of it: nobody would count their time as this tree's.
    # The flags of clone3 lie in memory, where a filter cannot see them; it is not there, so the C library takes clone
    program += [op(equal, _CLONE3, 0, 1), op(answer, 0x00050000 | _ENOSYS)]
    program += [
        op(equal, _CLONE[platform.machine()], 0, 6), op(load, 16), op(any_bit, _CLONE_PARENT, 2, 0), op(any_bit, _CLONE_VM, 0, 2),
        op(any_bit, _CLONE_THREAD | _CLONE_VFORK, 1, 0), refuse, allow,
    ]  # fmt: skip
    # to leave the cores that both sides are pinned to, or the group that the kernel stops whenever nothing was asked: answered with success, since honest
    # libraries pin threads and give their helpers sessions of their own, and not done
    for number in _PRETENDED[platform.machine()]:
        program += [op(equal, number, 0, 1), op(answer, 0x00050000)]
    # a whole group, by its negative number: it could only be the candidate's own
    program += [
        op(equal, _KILL[platform.machine()], 0, 4),
        op(load, 16),
        op(at_least, _NEGATIVE, 0, 1),
        op(answer, 0x00050000 | _ESRCH),
        allow,
    ]
    # socket(family, …): the family is the first argument (offset 16)
    program += [op(equal, socket_number, 1, 0), allow, op(load, 16), op(equal, _AF_UNIX, 0, 1), allow, refuse]
    code = ctypes.create_string_buffer(b"".join(program))
    filter_program = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code))
    # set on every thread at once (TSYNC): a driver's own threads share this memory, so they must not be freer than this one
    if _libc.syscall(_SECCOMP[platform.machine()], 1, 1, filter_program) == 0:
        return True
    return _libc.prctl(_PR_SET_SECCOMP, 2, filter_program, 0, 0) == 0


def public_paths() -> list[Path]:
    """What any Python program must be able to read: interpreter, libraries, devices' libraries, /proc, /sys."""
    paths = [Path(p) for p in ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys", "/run/nvidia-persistenced")]
    paths += [Path(p).resolve() for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)]
    paths += [Path(p).resolve() for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    return paths


def device_files() -> list[Path]:
    """Device nodes that a kernel needs; /dev/shm is left out: it would let one candidate leave something for the next."""
    names = ("null", "zero", "full", "random", "urandom", "tty", "kfd", "dri", "nvidia-caps")
    return [Path("/dev") / name for name in names] + sorted(Path("/dev").glob("nvidia*"))
