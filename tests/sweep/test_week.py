"""What happens in a week: a worker is killed, the clock jumps, the disk fills, a file is torn, money runs out over several sessions."""

import errno
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from popcorn.cli.main import app
from popcorn.records.store import Store
from popcorn.sweep import session as at_work
from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.plan import make_plan
from popcorn.sweep.showing import sweep_facts, sweep_table, worker_line
from popcorn.sweep.submitting import prepare, run_here
from tests.sweep.pretend import PretendEngine, open_pretend

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
    monkeypatch.setattr(at_work, "LEAST_FREE_BYTES", 1 << 62)
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
    assert "5.50 dollars of 5.00 are spent" in session.why and session.why in worker_line(session.folder.workers()[0])
    told = sweep_facts(session.folder)
    assert (told["dollars"], told["tokens"], told["measured"], told["missing"]) == (5.5, 1000, True, 1)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(sweep_table(told))
    shown = console.export_text()
    assert "spent 1,000 tokens, $5.50" in shown and "about 2 h 0 min and $5.50 left (means of what is done)" in shown


def test_a_number_that_is_another_process_s_after_a_reboot_keeps_no_worker_alive(tmp_path):
    folder = SweepFolder(tmp_path / "sweep")
    folder.report(0, state="running")
    status = folder.path / "status" / "0.json"
    status.write_text(json.dumps({**json.loads(status.read_text()), "born": "1"}))
    assert [one["state"] for one in folder.workers()] == ["lost"]


def test_a_folder_that_vanishes_stops_the_sweep_and_nothing_is_written_in_its_place(cache, tmp_path, monkeypatch):
    folder, elsewhere = prepare(make_matrix({**SMALL, "repeats": 3}, "small")), tmp_path / "elsewhere"
    judge = PretendEngine._judge

    def unmounted(self, request):
        if elsewhere.exists():
            raise OSError(errno.EIO, "Input/output error")
        if any(cache.glob("jobs/*.jsonl")):
            cache.rename(elsewhere)
        return judge(self, request)

    monkeypatch.setattr(PretendEngine, "_judge", unmounted)
    session = run_here(folder, open_pretend)
    assert session.stopping == "now" and session.counts["failed"] == 0 and elsewhere.exists()
    assert not (folder.path / "spec.json").exists() and not (cache / "jobs").exists()
    shutil.rmtree(cache)
    elsewhere.rename(cache)
    facts = sweep_facts(folder)
    assert 0 < facts["done"] < facts["jobs"] and facts["given_up"] == 0


def test_a_resume_that_would_pay_twice_asks_first(cache, monkeypatch):
    matrix = make_matrix(SMALL, "small")
    folder = prepare(matrix)
    assert run_here(folder, open_pretend).counts["done"] == 2
    assert make_plan(make_matrix({**SMALL, "budget_s": 3.0}, "small"), Done(cache)).outdated == 2
    assert make_plan(make_matrix({**SMALL, "name": "another", "budget_s": 3.0}, "small"), Done(cache)).outdated == 0
    monkeypatch.setattr("popcorn.sweep.jobs.__version__", "99.0")
    monkeypatch.setattr("popcorn.sweep.plan.__version__", "99.0")
    told = CliRunner().invoke(app, ["sweep", "resume", "small"])
    assert told.exit_code == 69 and "2 of the missing were answered before (by Popcorn" in told.stderr and "--anew" in told.stderr
    monkeypatch.setattr("popcorn.cli.sweeping.start", lambda *_: None)
    assert CliRunner().invoke(app, ["sweep", "resume", "small", "--anew"]).exit_code == 0
    assert CliRunner().invoke(app, ["sweep", "resume", "small"]).exit_code == 0, "that was said"
    Path("small.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in SMALL.items()))
    told = CliRunner().invoke(app, ["sweep", "submit", "small.toml", "--local"])
    assert told.exit_code == 0 and "2 of the missing were answered before" in told.stderr


def test_the_limit_counts_runs_under_way_once_and_not_those_that_ended(cache, tmp_path):
    matrix = make_matrix({**SMALL, "limits": {"dollars": 4.0}}, "small")
    folder = prepare(matrix)
    session = at_work.Session(folder, folder.spec(), [], Store(cache / "records"))
    first, second = make_plan(matrix, Done(cache)).jobs
    session.active = {one.id: {"job": one.id, "cost_usd": 1.5} for one in (first, second)}
    folder.report(1, state="running", active=[{"job": "another", "cost_usd": 0.5}])
    folder.report(0, state="running", active=list(session.active.values()))
    Done(cache).add(first.id, "done", "small", tokens=1, cost_usd=1.5)
    session.count_money()
    assert session.stopping is None, "1.5 are spent, 1.5 and 0.5 under way"
    folder.report(1, state="running", active=[{"job": "another", "cost_usd": 1.0}])
    session.count_money()
    assert session.stopping == "drain" and "4.00 dollars of 4.00" in session.why


def test_jobs_that_gave_up_say_why(cache):
    matrix = make_matrix({**SMALL, "retries": {"api_error": 0}}, "small")
    folder = prepare(matrix)
    for job in make_plan(matrix, Done(cache)).jobs:
        Done(cache).add(job.id, "api_error", "small", reason="ConnectionError: 401", tokens=10, cost_usd=None, goes_on=True)
    facts = sweep_facts(folder)
    assert facts["failures"] == [{"model": "baseline/eager", "reason": "ConnectionError: 401", "jobs": 2}]
    assert (facts["tokens"], facts["dollars"], facts["unpriced"]) == (20, 0.0, 2)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(sweep_table(facts))
    shown = console.export_text()
    assert "2 of baseline/eager: ConnectionError: 401" in shown and "2 runs without a price" in shown
