"""Accounts of processes whose names are anything."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from popcorn.worker import census as accounts
from popcorn.worker.census import Census, born, reaped_s

NAMED = (
    "import ctypes, sys; ctypes.CDLL(None).prctl(15, ctypes.c_char_p(bytes([0xff, 0xfe, 0x29, 0x20, 0x31])), 0, 0, 0);"
    "print('named', flush=True); sys.stdin.read()"
)
"""PR_SET_NAME with bytes that are no text, and a bracket."""


def test_a_process_whose_name_is_no_text_is_accounted_for_like_any_other():
    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"named\n"
        census = Census(child.pid)
        assert reaped_s(child.pid) == 0.0 and census.cpu_s() >= 0 and census.faults() >= 0
        assert int(born(child.pid) or 0) >= int(born(os.getpid()) or 0) > 0
        child.kill()


def test_who_is_gone_was_never_born():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert born(child.pid) is None


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen]:
    """A process whose first thread has waited a second longer for its core each time that somebody looks."""
    seconds = iter(range(10))
    monkeypatch.setattr(accounts, "main_thread_s", lambda pid: (0.0, float(next(seconds))))
    with subprocess.Popen(
        [sys.executable, "-c", HIRING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
        os.killpg(process.pid, signal.SIGKILL)


HIRING = """
import os, signal, sys
kept = os.fork()
if kept == 0:
    signal.pause()
print("ready", flush=True)
for line in sys.stdin:
    if line == "hire\\n":
        read, write = os.pipe()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            os._exit(0)
        os.close(write)
        os.read(read, 1)
    else:
        os.kill(kept, signal.SIGKILL)
        os.wait()
    print("done", flush=True)
"""
"""On `hire`, a child that nobody waits for comes and goes; on anything else one goes that was there."""


def test_a_wait_for_the_machine_is_believed_where_nobody_came_or_went(waiting: subprocess.Popen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "last_born", lambda: "7")  # others' births, on a busy machine
    assert Census(waiting.pid).waited_s() > 0.5


@pytest.mark.parametrize("asked", ["hire", "dismiss"])
def test_a_wait_is_not_believed_where_a_child_came_or_went_whose_time_no_account_shows(
    waiting: subprocess.Popen, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if asked == "dismiss":
        monkeypatch.setattr(accounts, "last_born", lambda: "7")
    assert waiting.stdin is not None and waiting.stdout is not None
    census = Census(waiting.pid)
    waiting.stdin.write(f"{asked}\n")
    waiting.stdin.flush()
    assert waiting.stdout.readline() == "done\n"
    assert census.waited_s() == 0.0
