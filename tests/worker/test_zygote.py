"""The reaper: whoever a candidate starts, wherever it hides, is gone with it; and nothing outlives the parent."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from popcorn.worker.nursery import ChildDied, DeadlinePassed
from tests.processes import gone, runs
from tests.worker.conftest import FAMILY, Candidate

_PARENT = """
import json, os, sys, time
from pathlib import Path
from popcorn.worker.bench import Bench
from tests.worker.conftest import Candidate
bench = Bench("cpu")
candidate = Candidate(bench)
facts = candidate.answer(sys.argv[1])
print(json.dumps({**facts, "zygote": bench.nursery._process.pid, "child": candidate.child.pid, "folder": str(bench.folder)}), flush=True)
time.sleep(60)
"""


def family_of(candidate: Candidate) -> list[int]:
    """The pids that the child's descendants wrote, and those that the system knows."""
    written = [int(text) for text in (candidate.folder / "pids.txt").read_text().split()]
    return [*written, *(p.pid for p in psutil.Process(candidate.child.pid).children(recursive=True)), candidate.child.pid]


def test_kill_ends_children_grandchildren_sessions_and_daemons(bench):
    candidate = Candidate(bench)
    candidate.run(FAMILY)
    pids = family_of(candidate)
    assert len(set(pids)) >= 5
    candidate.child.kill()
    assert [pid for pid in set(pids) if not gone(pid)] == []


@pytest.mark.parametrize("last_words", ["os._exit(3)", "os.kill(os.getpid(), 9)", "ctypes.string_at(0)"])
def test_a_child_that_ends_by_itself_leaves_nobody_behind(bench, last_words):
    candidate = Candidate(bench)
    with pytest.raises(ChildDied):
        candidate.run(FAMILY + last_words)
    pids = [int(text) for text in (candidate.folder / "pids.txt").read_text().split()]
    assert len(pids) == 3 and [pid for pid in pids if not gone(pid)] == []


def test_a_daemon_that_fled_from_its_parent_is_gone_at_the_first_answer(bench):
    """Its parent has exited, so it belongs to the zygote, which keeps nobody that it did not start."""
    candidate = Candidate(bench)
    candidate.run(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path("daemon").write_text(str(os.getpid()))
                time.sleep(60)
            os._exit(0)
        os.wait()
        while not Path("daemon").exists() or not Path("daemon").read_text(): time.sleep(0.005)
        """
    )
    assert gone(int((candidate.folder / "daemon").read_text()))
    assert candidate.answer("answer(alive=True)") == {"alive": True}
    candidate.child.kill()


def test_a_bomb_of_forks_is_put_out(bench):
    """Every process forks on as fast as it can, in sessions of their own, until the deadline."""
    candidate = Candidate(bench)
    code = """
        import resource
        end = time.monotonic() + 20
        def burst(depth):
            while time.monotonic() < end:
                if depth < 6 and os.fork() == 0:
                    os.setsid()
                    burst(depth + 1)
                time.sleep(0.01)
        burst(0)
    """
    zygote, standing = psutil.Process(bench.nursery._process.pid), bench.evictor().pid
    start = time.monotonic()
    with pytest.raises(DeadlinePassed):
        candidate.run(code, timeout_s=0.3)
    end = time.monotonic() + 30
    while (left := [p for p in zygote.children(recursive=True) if p.pid != standing and runs(p)]) and time.monotonic() < end:
        time.sleep(0.02)
    assert left == [] and time.monotonic() - start < 40


def test_an_interrupt_at_the_terminal_is_the_parents_to_handle(bench):
    os.kill(bench.nursery._process.pid, signal.SIGINT)
    with bench.nursery.fork() as child:
        assert psutil.Process(child.pid).ppid() == bench.nursery._process.pid


SECRETS = {"OPENAI_API_KEY": "1", "hf_token": "2", "AWS_SECRET_ACCESS_ID": "3", "DB_PASSWORD": "4", "GOOGLE_APPLICATION_CREDENTIALS": "5"}


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """A parent process with secrets in its environment, whose candidate has a whole family; then the parent is killed with SIGKILL."""
    environment = {**os.environ, **SECRETS, "HARMLESS": "kept", "POPCORN_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    code = FAMILY + "\nanswer(env=dict(os.environ), raw=open('/proc/self/environ').read(), family=pids.read_text().split())"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, code], stdout=subprocess.PIPE, text=True, env=environment)
    facts = json.loads(parent.stdout.readline())
    facts["before"] = [pid for pid in (facts["zygote"], facts["child"], *map(int, facts["family"])) if not gone(pid, 0.02)]
    facts["all"] = psutil.Process(parent.pid).children(recursive=True)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    yield facts
    subprocess.run(["rm", "-rf", facts["folder"]], check=True)


def test_no_secret_of_the_environment_reaches_a_child(family):
    assert family["env"]["HARMLESS"] == "kept"
    assert not set(SECRETS) & set(family["env"])
    assert not [name for name in SECRETS if name in family["raw"]]


def test_killing_the_parent_outright_ends_the_zygote_and_everybody_else(family):
    assert len(family["before"]) >= 4, "they were alive before (the daemon may have been found already)"
    everyone = {*family["before"], *(process.pid for process in family["all"])}
    assert [pid for pid in everyone if not gone(pid)] == []
