"""The zygote: a process with torch imported and CUDA untouched, that forks a child for each job in hundredths of a second.

Started by nursery.py as `python -m popcorn.worker.zygote FD`. It never runs candidate code itself. It is the reaper of every descendant:
whatever outlives its job, or tries to hide as an orphan, is killed here. When the parent dies, the socket closes and all children go.
"""

import contextlib
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path

from popcorn.worker import learning, sandbox
from popcorn.worker.wire import Channel, Closed

ORPHANS_S = 0.05
"""How often orphans are looked for: a daemon that fled its parent has no longer than this."""


def main(control_fd: int, cuda: bool) -> None:
    """Serve fork and kill requests until the parent closes its end."""
    control = socket.socket(fileno=control_fd)
    sandbox.become_subreaper()
    sandbox.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _import_heavy_modules(cuda)
    Channel(control).send({"event": "ready", "pid": os.getpid()})

    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    jobs: set[int] = set()
    try:
        while True:
            ready = select.select([control.fileno(), wake_read], [], [], ORPHANS_S)[0]
            _kill_orphans(jobs)
            if wake_read in ready:
                os.read(wake_read, 4096)
                _reap(control, jobs)
            if control.fileno() in ready and not _serve(control, jobs, (wake_read, wake_write)):
                return
    finally:
        for pid in list(jobs):
            _kill_tree(pid)
        _kill_orphans(set())


def _import_heavy_modules(cuda: bool) -> None:
    """Whatever any role needs later is imported once, here, and shared by every child."""
    import torch

    torch.set_num_threads(1)  # a team of OpenMP threads does not survive a fork
    for name in (
        "torch._dynamo",  # dispatch modes and torch.compile need it, and it takes a second
        "torch.utils.cpp_extension",
        "popcorn.measure.activity",
        "popcorn.measure.launches",
        "popcorn.measure.memory",
        "popcorn.suites.loading",
        "popcorn.toolchain.inline",
        "popcorn.toolchain.native_module",
        "popcorn.toolchain.nvrtc",
        "popcorn.worker.child",
        "popcorn.worker.trying",
        "torch._subclasses.fake_tensor",
    ):
        importlib.import_module(name)
    _learn_triton(cuda)
    learning.freeze()


def _learn_triton(cuda: bool) -> None:
    """Triton where it is installed; on a GPU also what every process finds out at its first launch, half a second of it: a hash of Triton's own files,
    and what its launcher imports."""
    with contextlib.suppress(ImportError):
        importlib.import_module("triton")
    if cuda:
        with contextlib.suppress(Exception):  # other versions keep these elsewhere, or not at all: a child finds out itself
            importlib.import_module("triton.experimental.gluon.nvidia.hopper")
            importlib.import_module("triton.runtime.cache").triton_key()  # kept by Triton


def _serve(control: socket.socket, jobs: set[int], wake: tuple[int, int]) -> bool:
    """One request: a byte that names it, with descriptors for a fork. False when the parent is gone."""
    try:
        data, fds, _, _ = socket.recv_fds(control, 64, 2)
    except OSError:
        return False
    if not data:
        return False
    verb, _, argument = data.decode().strip().partition(" ")
    if verb == "kill":
        if int(argument) in jobs:
            _kill_tree(int(argument))
    elif verb == "learn":
        learning.learn(argument)
        with contextlib.suppress(Closed):
            Channel(control).send({"event": "learned"})
    elif verb == "fork":
        pid = os.fork()
        if pid == 0:
            _become_child(control, fds, wake)
        for fd in fds:
            os.close(fd)
        jobs.add(pid)
        with contextlib.suppress(Closed):
            Channel(control).send({"event": "forked", "job": argument, "pid": pid})
    return True


def _become_child(control: socket.socket, fds: list[int], wake: tuple[int, int]) -> None:
    """Never returns: the child's whole life."""
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sandbox.die_with_parent()
        os.setsid()
        control.close()
        for fd in wake:
            os.close(fd)
        channel_fd, output_fd = fds
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        os.close(null)
        os.close(output_fd)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        from popcorn.worker import child

        code = child.live(Channel(socket.socket(fileno=channel_fd)))
    except BaseException as error:  # the last line of a process: nothing may escape into the zygote's loop
        with contextlib.suppress(BaseException):
            traceback.print_exception(error, limit=-6)
    finally:
        os._exit(code)


def _reap(control: socket.socket, jobs: set[int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            break
        if pid in jobs:
            jobs.discard(pid)
            _kill_group(pid)
            with contextlib.suppress(Closed):
                Channel(control).send({"event": "exited", "pid": pid, "status": os.waitstatus_to_exitcode(status)})
    _kill_orphans(jobs)


def _kill_orphans(jobs: set[int]) -> None:
    """Direct children that are no job: grandchildren that outlived or fled their parent."""
    for pid in _children(os.getpid()):
        if pid not in jobs:
            _kill_tree(pid)


def _kill_tree(pid: int) -> None:
    """Stops the root first so that it cannot fork on, then kills it and all its descendants."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    for child in _children(pid):
        _kill_tree(child)
    _kill_group(pid)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(text) for text in (task / "children").read_text().split()]
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), cuda=sys.argv[2] == "1")
