"""A forked child's life: take a role, close the sandbox if the role is a candidate's, then answer commands until the parent hangs up.

Needs torch.
"""

import contextlib
import os
import tempfile
import traceback
from pathlib import Path
from typing import Any

import torch

from popcorn.errors import PopcornError
from popcorn.measure.steadiness import WAITS
from popcorn.worker import sandbox
from popcorn.worker.failure import Failed, gpu_failed
from popcorn.worker.oracle import Oracle
from popcorn.worker.semaphores import give_locks
from popcorn.worker.side import Side
from popcorn.worker.wire import Channel, Closed

WORKS = "popcorn-works"
_MAX_FILE_BYTES = 1 << 30
_MORE_PROCESSES = 512
"""Tasks that a candidate may add to those of its user now: the kernel counts all of a user's threads together."""


def live(channel: Channel) -> int:
    """Returns the exit code: 0 when the parent hung up."""
    try:
        message = channel.receive()
        if message["role"] == "spare":
            message = _wait_as_spare(channel, message)
        server = _take_role(channel, message)
        waits = False
        while True:
            message = channel.receive()
            turn = message.pop("turn")
            if waits:
                sandbox.call_process(WORKS)
            answer = _answer(server, message)
            waits = message["do"] == "rest"
            if waits:
                sandbox.call_process(WAITS)
            channel.send({**answer, "turn": turn})
    except Closed:
        return 0


def _wait_as_spare(channel: Channel, message: dict[str, Any]) -> dict[str, Any]:
    """A context before there is a role; returns the introduction to one, whenever it comes."""
    os.environ.update(message["env"])
    torch.empty(1, device=message["device"])
    sandbox.call_process(WAITS)
    channel.send({"ready": True, "turn": message["turn"]})
    introduction = channel.receive()
    sandbox.call_process(WORKS)
    return introduction


def _take_role(channel: Channel, message: dict[str, Any]) -> Oracle | Side:
    server: Oracle | Side
    role, folder = message["role"], Path(message["folder"])
    os.environ.update(message["env"])
    os.chdir(folder)
    tempfile.tempdir = None
    torch.set_num_threads(message["threads"])
    with contextlib.suppress(OSError):
        os.nice(-10)  # every side alike, where it is allowed: other work on the machine disturbs the clock less
    device = message["device"]
    if message["cores"] and role != "oracle":
        os.sched_setaffinity(0, message["cores"])  # both sides on the same cores, whatever their threads
    if device.startswith("cuda"):
        torch.empty(1, device=device)  # the driver opens what it needs before any fence closes
    if role == "candidate":
        side = server = Side(role, device, message["cache_bytes"], folder)
        _cap_threads(message["threads"])
        give_locks()
        missing = _close_sandbox(message, folder)
        from popcorn.toolchain.inline import intercept

        intercept(_asker(channel))
        if device.startswith("cuda"):
            from popcorn.toolchain.nvrtc import intercept_nvrtc

            intercept_nvrtc(side.built_here.append, Path(message["nvrtc"]))
    elif role in ("reference", "implementation"):
        server, missing = Side(role, device, message["cache_bytes"], folder), []
    elif role == "stranger":  # a reference that nobody vouches for yet: an oracle's work behind a candidate's fence
        server = Oracle(device, Path(message["shared"]))
        missing = _close_sandbox(message, folder)
    else:
        server, missing = Oracle(device, Path(message["shared"])), []
        sandbox.hide_memory()
    channel.send({"ready": True, "missing": missing, "turn": message["turn"]})
    return server


def _close_sandbox(message: dict[str, Any], folder: Path) -> list[str]:
    """The zygote has imported everything the candidate's harness needs; from here on only its own folder can be written."""
    sandbox.show_memory()
    sandbox.go_first()
    own_pages = Path(f"/proc/{os.getpid()}/clear_refs")  # resets this process's own high-water mark of memory
    sandbox.limit_resources(message["memory_bytes"], _MAX_FILE_BYTES, _tasks() + _MORE_PROCESSES)
    readable = [*sandbox.public_paths(), *(Path(path) for path in message["readable"])]
    return sandbox.enter(
        readable,
        [folder, own_pages, *(Path(path) for path in message["writable"]), *sandbox.device_files()],
        filled=[Path(path) for path in message["filled"]],
        fence_services=not message["device"].startswith("cuda"),  # a driver may have to reach its own service
    )


def _cap_threads(most: int) -> None:
    """Honest files ask for as many threads as the machine has. Both sides are pinned to the same cores: a larger team would only wait for itself."""
    given = torch.set_num_threads

    def set_num_threads(nthreads: int) -> None:
        given(min(nthreads, most) if type(nthreads) is int else nthreads)

    torch.set_num_threads = set_num_threads


def _tasks() -> int:
    """Tasks on the machine now, at least those of this user."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def _asker(channel: Channel) -> Any:
    """How code in this child asks the parent for something (a build) in the middle of a command."""

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        channel.send({"request": "build", **request})
        return channel.receive()

    return ask


def _answer(server: Oracle | Side, message: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": getattr(server, f"do_{message['do']}")(message)}
    except Failed as failed:
        ours = isinstance(server, Oracle) and gpu_failed(failed.__cause__)  # never by the word of a process that runs a candidate
        return Failed("harness_error", failed.reason, failed.details).message() if ours else failed.message()
    except PopcornError as error:
        return Failed("invalid_reference", str(error)).message()
    except torch.OutOfMemoryError as error:
        return Failed("out_of_memory", str(error)[:500]).message()
    except MemoryError:
        return Failed("out_of_memory", "the process ran out of memory").message()
    except Exception as error:
        details = traceback.format_exc()
        return Failed("harness_error", f"{type(error).__name__}: {error}", details).message()
