"""Two sweeps of one cache that ask the same at the same time do it once, and a lock ends with its process."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from popcorn.sweep.done import Done
from popcorn.sweep.locks import Locks
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.plan import make_plan
from popcorn.sweep.submitting import prepare, run_here
from tests.sweep.pretend import open_pretend
from tests.sweep.test_working import SMALL, wait_for

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("cache")


def test_a_lock_is_one_process_s_until_it_ends(tmp_path):
    code = "import sys; from pathlib import Path; from popcorn.sweep.locks import Locks; print(Locks(Path(sys.argv[1])).take('a'), flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    ours = Locks(tmp_path)
    assert ours.take("a")
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "False\n"
        other.kill()
    ours.let_go("a")
    assert not (tmp_path / "jobs" / "locks" / "a").exists()
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "True\n" and not ours.take("a")
        other.kill()
    assert ours.take("a"), "what a killed process held is free"


def test_a_job_that_another_sweep_has_under_way_is_waited_for_and_not_done_again(cache, monkeypatch):
    monkeypatch.setattr("popcorn.sweep.working.ELSEWHERE_S", 0.05)
    matrix = make_matrix({**SMALL, "models": ["baseline/eager"]}, "small")
    first, second = make_plan(matrix, Done(cache)).jobs
    another, done = Locks(cache), Done(cache)
    assert another.take(first.id)

    def other_sweep() -> None:
        wait_for(lambda: second.id in done.read().done)
        time.sleep(0.3)
        done.add(first.id, "done", "another", outcome="correct")
        another.let_go(first.id)

    other = threading.Thread(target=other_sweep)
    other.start()
    session = run_here(prepare(matrix), open_pretend)
    other.join()
    assert session.counts["done"] == 1 and [line["sweep"] for line in done.lines()] == ["small", "another"]
    assert len(list((cache / "runs" / "agents").glob("*/journal.jsonl"))) == 1
