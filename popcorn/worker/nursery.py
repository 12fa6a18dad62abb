"""The parent's side of the zygote: start it, fork children from it, talk to them, end them. Imports no torch."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.errors import HarnessFailure
from popcorn.units import show_bytes
from popcorn.worker.memory_watch import MemoryWatch
from popcorn.worker.wire import Channel, Closed, Malformed, TimedOut

OUTPUT_CAP_BYTES = 64 << 10
_LEARNING_S = 120.0
"""Longest that the zygote is given for what it learns."""
_SCRUBBED = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


class ChildDied(Exception):
    """A child ended before it answered. `signal` is set when a signal ended it."""

    def __init__(self, status: int | None, output: str):
        self.status = status
        self.signal = -status if status is not None and status < 0 else None
        self.output = output
        super().__init__(self.describe())

    def describe(self) -> str:
        """`signal SIGSEGV` or `exit code 13`."""
        if self.signal is not None:
            with contextlib.suppress(ValueError):
                return f"signal {signal.Signals(self.signal).name}"
        return f"exit code {self.status}" if self.status is not None else "no exit status"


class DeadlinePassed(Exception):
    """A child did not answer in time; it and its whole process group are dead now."""

    def __init__(self, seconds: float, output: str):
        self.seconds = seconds
        self.output = output
        super().__init__(f"no answer in {seconds:g} s")


class MemoryPassed(Exception):
    """A child and its descendants held more memory than they may; all of them are dead now."""

    def __init__(self, held_bytes: int, limit_bytes: int):
        super().__init__(f"its processes held {show_bytes(held_bytes)} of memory, and {show_bytes(limit_bytes)} are allowed")


class Child:
    """One forked child: ask it something, or end it. What it prints is kept, head and tail, and never believed.

    A child that `rests` is stopped by the kernel whenever nobody asked it: it can neither work on after its answer nor disturb others.
    """

    def __init__(self, nursery: "Nursery", pid: int, channel: Channel, output_fd: int):
        self.pid = pid
        self.rests = False
        self.readable = False
        """Whether this process may read its memory, as its parent."""
        self.missing: tuple[str, ...] = ()
        self.folder: Path | None = None
        self.busy = False
        """Whether it works on something now; who waits for a compiler does not."""
        self._nursery = nursery
        self._channel = channel
        self._output = _Output(output_fd)
        self._memory: MemoryWatch | None = None

    def limit_memory(self, limit_bytes: int) -> None:
        """From now on the whole tree may hold this much more than it does, by the parent's watch; `ask` raises MemoryPassed else."""
        self._memory = MemoryWatch(self.pid, limit_bytes, lambda: self._nursery.kill(self.pid))

    def ask(
        self, message: dict[str, Any], timeout_s: float, serve: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        """Send a command and wait for its answer. `serve` answers requests that the child makes meanwhile (builds); its time does not
        count against the child. Raises ChildDied, DeadlinePassed, MemoryPassed; Malformed frames count as a death. HarnessFailure when the zygote is gone."""
        turn = secrets.token_hex(8)
        deadline = time.monotonic() + timeout_s
        self.busy = True
        try:
            self._signal(signal.SIGCONT)
            self._channel.send({**message, "turn": turn}, deadline)
            while True:
                reply = self._channel.receive(deadline)
                if "request" not in reply:
                    self._signal(signal.SIGSTOP)
                    if reply.pop("turn", None) != turn:
                        raise Malformed("an answer to nothing that was asked")
                    return reply
                started, self.busy = time.monotonic(), False
                answer = serve(reply) if serve else {"error": "not available here"}
                self.busy = True
                deadline += time.monotonic() - started
                self._channel.send(answer, deadline)
        except TimedOut:
            self.kill()
            raise DeadlinePassed(timeout_s, self.output()) from None
        except (Closed, Malformed):
            status = self._nursery.wait(self.pid, 0.5)
            if status is None and self._nursery.gone:
                raise HarnessFailure(self._nursery.describe_end()) from None  # all children go with it: nothing of this one's doing
            if status is None:
                self.kill()
                status = self._nursery.wait(self.pid, 5.0)
            if self._memory is not None and self._memory.held_bytes is not None:
                raise MemoryPassed(self._memory.held_bytes, self._memory.limit_bytes) from None
            raise ChildDied(status, self.output()) from None
        finally:
            self.busy = False

    def _signal(self, which: signal.Signals) -> None:
        """To its whole process group; a group that is gone needs none."""
        if self.rests:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, which)

    def output(self) -> str:
        """What it printed, at most 128 KB: the head and the tail."""
        return self._output.text()

    def kill(self) -> None:
        """Ends the child and every descendant; returns when it is gone."""
        if self._memory is not None:
            self._memory.stop()
        self._channel.close()
        self._nursery.kill(self.pid)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Nursery:
    """A zygote and the children it has forked. One a device kind; thread-safe."""

    def __init__(self, threads: int, cuda: bool = False):
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._statuses: dict[int, int] = {}
        self._forked: dict[str, int] = {}
        self._counter = 0
        self._ready = False
        self._gone = False
        self._learned: set[str] = set()
        self._learning = 0
        """What the zygote was asked to learn and has not learned yet: until then it neither forks nor kills."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control = ours
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "popcorn.worker.zygote", str(theirs.fileno()), str(int(cuda))],
            pass_fds=[theirs.fileno()],
            env=scrubbed_environment(threads),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        assert self._process.stderr is not None
        self._errors = _Output(self._process.stderr.fileno(), owner=self._process.stderr)
        self._listener = threading.Thread(target=self._listen, daemon=True, name="nursery")
        self._listener.start()

    def wait_ready(self, timeout_s: float = 120.0) -> None:
        """Until torch is imported. Raises HarnessFailure with the zygote's own words."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._gone, timeout_s)
            if not self._ready:
                raise HarnessFailure(f"the zygote did not start: {self._errors.text().strip()[-2000:] or 'no output'}")

    @property
    def gone(self) -> bool:
        """The zygote has ended: killed from outside, or by the kernel for want of memory. Its children went with it."""
        return self._gone

    def describe_end(self) -> str:
        """How the zygote ended, with its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        status = self._process.returncode
        how = "still runs, deaf" if status is None else f"signal {-status}" if status < 0 else f"exit code {status}"
        return f"the zygote is gone ({how}): {self._errors.text().strip()[-1000:] or 'it said nothing'}"

    def learn(self, *names: str) -> bool:
        """Let the zygote import what `learning` knows by these names, so that every later fork has it. Returns at once; forks wait for it. False where it knows all."""
        self.wait_ready()
        with self._lock:
            new = [name for name in names if name not in self._learned]
            self._learned.update(new)
            with contextlib.suppress(OSError):  # one that is gone is noticed where it is asked for a child
                for name in new:
                    with self._changed:
                        self._learning += 1
                    self._control.sendall(f"learn {name}".ljust(64).encode("ascii"))
            return bool(new)

    def fork(self, timeout_s: float = 60.0) -> Child:
        """A fresh child, ready to be told its role."""
        self.wait_ready()
        channel_ours, channel_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        output_read, output_write = os.pipe()
        try:
            with self._lock:
                self._counter += 1
                job = str(self._counter)
                message = f"fork {job}".ljust(64).encode()
                socket.send_fds(self._control, [message], [channel_theirs.fileno(), output_write])
        except OSError as error:
            raise HarnessFailure(f"{self.describe_end()} ({error})") from error
        finally:
            channel_theirs.close()
            os.close(output_write)
        with self._changed:
            if not self._changed.wait_for(lambda: job in self._forked or self._gone, timeout_s + self._busy_s()) or self._gone:
                raise HarnessFailure(self.describe_end() if self._gone else f"the zygote did not fork in {timeout_s:g} s")
            pid = self._forked.pop(job)
        return Child(self, pid, Channel(channel_ours), output_read)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """Exit status of a child (negative: the signal), or None when it still lives."""
        with self._changed:
            self._changed.wait_for(lambda: pid in self._statuses or self._gone, timeout_s)
            return self._statuses.get(pid)

    def kill(self, pid: int) -> None:
        """Kill a child's whole tree and wait until it is reaped."""
        if self.wait(pid, 0) is not None or self._gone:
            return
        with self._lock, contextlib.suppress(OSError):
            self._control.sendall(f"kill {pid}".ljust(64).encode())
        self.wait(pid, 10.0 + self._busy_s())

    def _busy_s(self) -> float:
        """How much longer the zygote may take to answer."""
        return _LEARNING_S if self._learning else 0.0

    def close(self) -> None:
        """End the zygote and with it every child."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(5 if self._ready else 0.01)  # one that still imports has no children and nothing to tidy
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(2)
        self._control.close()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        channel = Channel(self._control)
        try:
            while True:
                message = channel.receive()
                with self._changed:
                    match message.get("event"):
                        case "ready":
                            self._ready = True
                        case "forked":
                            self._forked[message["job"]] = message["pid"]
                            self._statuses.pop(message["pid"], None)  # numbers are used again: that was another process
                        case "learned":
                            self._learning -= 1
                        case "exited":
                            self._statuses[message["pid"]] = message["status"]
                    self._changed.notify_all()
        except (Closed, Malformed):
            with self._changed:
                self._gone = True
                self._changed.notify_all()


class _Output:
    """Drains a pipe for ever so that no writer blocks; keeps the first and the last 64 KB."""

    def __init__(self, fd: int, owner: Any = None):
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._owner = owner
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, args=(fd,), daemon=True, name="drain")
        self._thread.start()

    def text(self) -> str:
        self._thread.join(0.05)  # a dead writer's last words may still be in the pipe
        with self._lock:
            middle = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
            return (bytes(self._head) + middle + bytes(self._tail)).decode(errors="replace")

    def _drain(self, fd: int) -> None:
        while True:
            try:
                part = os.read(fd, 1 << 20)
            except OSError:
                break
            if not part:
                break
            with self._lock:
                room = OUTPUT_CAP_BYTES - len(self._head)
                self._head += part[:room]
                self._tail += part[max(0, room) :]
                excess = len(self._tail) - OUTPUT_CAP_BYTES
                if excess > 0:
                    self._dropped += excess
                    del self._tail[:excess]
        if self._owner is None:
            os.close(fd)
        else:
            self._owner.close()


def scrubbed_environment(threads: int) -> dict[str, str]:
    """The parent's environment without secrets, with equal thread counts for both sides of every comparison."""
    kept = {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SCRUBBED)}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        kept[name] = str(threads)
    # freed memory stays with the process: else glibc gives large blocks back and the next call pays for fresh pages, or does not, by the luck of
    # the heap's layout (a softmax of 16 MB took 2.9 ms and 9.3 ms in turns, block by block)
    kept["MALLOC_MMAP_MAX_"] = "0"
    kept["MALLOC_TRIM_THRESHOLD_"] = str(1 << 40)
    kept["MALLOC_TOP_PAD_"] = str(64 << 20)
    # OpenMP's workers sleep soon after a region instead of spinning for milliseconds into the other side's turn
    kept["GOMP_SPINCOUNT"] = "20000"
    # in a header that is compiled anew by every process there is nothing to win, and it takes six seconds
    kept["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "0"
    kept["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # a CUDA context with four hardware queues instead of eight takes 25 ms less to make, for every side alike; four streams still run at once
    kept["CUDA_DEVICE_MAX_CONNECTIONS"] = "4"
    kept["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # is_available() must not initialise CUDA before the fork
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    package = str(Path(__file__).resolve().parents[2])
    kept["PYTHONPATH"] = os.pathsep.join(p for p in (package, kept.get("PYTHONPATH")) if p)
    return kept
