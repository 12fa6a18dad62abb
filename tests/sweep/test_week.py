"""What happens in a week: a worker is killed, the clock jumps, the disk fills, a file is torn, money runs out over several sessions."""

import errno
import io
import json
import os
import subprocess
import sys
import time

import pytest
from rich.console import Console

from popcorn.records.store import Store
from popcorn.sweep import working
from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.plan import make_plan
from popcorn.sweep.showing import sweep_facts, sweep_table
from popcorn.sweep.submitting import prepare, run_here
from tests.sweep.pretend import open_pretend

SMALL = {
    "name": "small", "problems": ["original/L1/36", "original/L1/23"], "models": ["baseline/eager"], "tiers": ["single"], "language": "c",
    "device": "cpu", "agents_per_gpu": 1, "trials": 5,
}  # fmt: skip


pytestmark = pytest.mark.usefixtures("cache")


def test_a_killed_worker_is_lost_at_once_and_a_clock_set_back_keeps_no_dead_one_alive(tmp_path):
    folder = SweepFolder(tmp_path / "sweep")
    folder.report(0, state="running")
    assert [one["state"] for one in folder.workers()] == ["running"]
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    status = folder.path / "status" / "0.json"
    said = json.loads(status.read_text())
    status.write_text(json.dumps({**said, "pid": gone.pid}))
    assert [one["state"] for one in folder.workers()] == ["lost"], "its process is no more"
    for skew, state in ((0.0, "running"), (3600.0, "lost"), (-3600.0, "lost")):
        status.write_text(json.dumps({**said, "host": "another", "updated": time.time() + skew}))
        assert [one["state"] for one in folder.workers()] == [state]


@pytest.mark.parametrize("torn", ["", "{", "null", "[]", '{"state": "running"}'])
def test_a_torn_status_file_costs_itself_alone(tmp_path, torn):
    folder = SweepFolder(tmp_path / "sweep")
    folder.report(0, state="ended")
    (folder.path / "status" / "1.json").write_text(torn)
    assert [one["rank"] for one in folder.workers()] == [0]


def test_with_a_nearly_full_disk_nothing_begins_and_the_log_says_what_to_do(cache, monkeypatch):
    matrix = make_matrix(SMALL, "small")
    monkeypatch.setattr(working, "LEAST_FREE_BYTES", 1 << 62)
    cache.mkdir()
    session = run_here(prepare(matrix), open_pretend)
    assert (session.stopping, session.counts["done"]) == ("drain", 0)
    assert "make room, then `popcorn sweep resume`" in (session.folder.path / "log.txt").read_text()
    monkeypatch.undo()
    os.environ["POPCORN_CACHE_DIR"] = str(cache)
    try:
        assert run_here(prepare(matrix), open_pretend).counts["done"] == 2
    finally:
        del os.environ["POPCORN_CACHE_DIR"]


def test_a_result_that_the_disk_refuses_is_no_failure_and_is_done_later(cache, monkeypatch):
    matrix, add = make_matrix(SMALL, "small"), Done.add

    def refuse(self, *arguments, **facts):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Done, "add", refuse)
    session = run_here(prepare(matrix), open_pretend)
    assert (session.stopping, session.counts) == ("drain", {"done": 0, "correct": 0, "failed": 0, "refused": 0})
    monkeypatch.setattr(Done, "add", add)
    plan = make_plan(matrix, Done(cache))
    assert len(plan.missing) == 2 and plan.known.failures == {} and plan.known.refused == {}
    before = len(list(Store(cache / "records")))
    assert run_here(prepare(matrix), open_pretend).counts["done"] == 2
    assert len(list(Store(cache / "records"))) == 2 and before == 1, "what was judged is not judged again"


def test_money_is_counted_over_sessions_and_status_tells_what_was_spent_and_what_is_left(cache):
    matrix = make_matrix({**SMALL, "limits": {"dollars": 5.0}}, "small")
    first, _ = make_plan(matrix, Done(cache)).jobs
    facts = {"problem": first.problem, "model": first.model, "tier": first.tier, "outcome": "correct", "wall_s": 7200.0, "tokens": 1000}
    Done(cache).add(first.id, "done", "small", cost_usd=5.5, **facts)
    session = run_here(prepare(matrix), open_pretend)
    assert (session.stopping, session.counts["done"]) == ("drain", 0), "a resume does not begin at nothing"
    told = sweep_facts(session.folder)
    assert (told["dollars"], told["tokens"], told["measured"], told["missing"]) == (5.5, 1000, True, 1)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(sweep_table(told))
    shown = console.export_text()
    assert "spent 1,000 tokens, $5.50" in shown and "about 2 h 0 min and $5.50 left (means of what is done)" in shown
