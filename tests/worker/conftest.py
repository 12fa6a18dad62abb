"""A way to run a few lines as a candidate does: in a forked child, behind the closed sandbox."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popcorn.worker.bench import Bench
from popcorn.worker.nursery import Child

LIBRARY = """
import ctypes, errno, gc, json, os, signal, socket, struct, subprocess, sys, time
from pathlib import Path

def attempt(act):
    "`allowed`, or the name of the error"
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "allowed"

def channel():
    "this child's own end of the conversation with the parent"
    from popcorn.worker.wire import Channel
    return next(o for o in gc.get_objects() if type(o) is Channel)._sock

def answer(**facts):
    Path("answer.json").write_text(json.dumps(facts))

class ModelNew:
    pass

"""


FAMILY = """
pids = Path("pids.txt")
def keep():
    with pids.open("a") as file:
        file.write(f"{os.getpid()}\\n")
def sleep_for_ever():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    keep()
    time.sleep(60)
    os._exit(0)
if os.fork() == 0:                       # an ordinary child
    sleep_for_ever()
if os.fork() == 0:                       # a session of its own
    os.setsid()
    sleep_for_ever()
if os.fork() == 0:                       # a daemon: double fork, its parent is gone
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        sleep_for_ever()
    os._exit(0)
subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 61 & sleep 62"], start_new_session=True)
while not pids.exists() or len(pids.read_text().split()) < 3:
    time.sleep(0.005)
os.wait()
"""


"""A child, a grandchild in a session of its own, a daemon and a shell; their pids go to pids.txt."""


class Candidate:
    """A child in the candidate's role that has not imported anything yet."""

    def __init__(self, bench: Bench, memory_bytes: int | None = None):
        self.folder = bench.new_folder("tested")
        self.shared = bench.new_folder("shared")
        for name in ("in", "out"):
            (self.shared / name).mkdir()
        self.child: Child = bench.start("candidate", self.folder, self.shared, "0" * 16, memory_bytes)

    def run(self, code: str, timeout_s: float = 20.0) -> dict[str, Any]:
        """The reply to importing this text. Raises what Child.ask raises."""
        path = self.folder / "candidate.py"
        path.write_text(LIBRARY + textwrap.dedent(code))
        return self.child.ask({"do": "import", "path": str(path), "language": "torch", "library": None}, timeout_s)

    def answer(self, code: str, timeout_s: float = 20.0) -> dict[str, Any]:
        """What the text told by `answer(...)`."""
        reply = self.run(code, timeout_s)
        assert "ok" in reply, reply
        return json.loads((self.folder / "answer.json").read_text())


@pytest.fixture
def candidate(bench) -> Iterator[Candidate]:
    made = Candidate(bench)
    yield made
    made.child.kill()


@pytest.fixture
def secret(tmp_path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("seed")
    return path
