"""A local sweep with a pretended judge: done once, retried by kind and cap, drained and let go, refused with a reason; the commands around it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from popcorn.cli.main import app
from popcorn.errors import BadSweep
from popcorn.records.runs import read_runs
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder, find_sweep
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.places import UNFIT_IN_A_ROW, Gate, control, open_places
from popcorn.sweep.plan import AROUND_S, make_plan
from popcorn.sweep.showing import sweep_facts
from popcorn.sweep.submitting import prepare, run_here
from popcorn.worker.request import Request
from tests.made_records import make_measurement, make_record, make_timing
from tests.sweep.pretend import PretendEngine, open_pretend

ROOT = Path(__file__).parents[2]
SMALL = {
    "name": "small", "problems": ["original/L1/36", "popcorn/L1/29"], "models": ["scripted/brisk", "baseline/eager"], "tiers": ["single"], "language": "c",
    "device": "cpu", "agents_per_gpu": 2, "trials": 5,
}  # fmt: skip


pytestmark = pytest.mark.usefixtures("cache")


def wait_for(true: Callable[[], object], seconds: float = 90) -> None:
    """Until it is true; a file that is not there yet or half written is not true yet."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError):
            if true():
                return
        time.sleep(0.05)
    raise AssertionError(f"not true within {seconds:g} s")


def sweep(**changes):
    return run_here(prepare(make_matrix({**SMALL, **changes}, "small")), open_pretend)


def test_a_sweep_is_done_once_and_its_runs_lie_where_others_look(cache):
    assert sweep().counts["done"] == 4
    assert sweep().counts["done"] == 0, "nothing is missing"
    assert len(read_runs(cache / "runs" / "agents")) == 4
    assert (cache / "runs" / "agents" / "tables" / "runs.parquet").is_file()
    assert sweep(name="another").counts["done"] == 0, "another sweep's results count where they mean the same"
    assert sweep(repeats=2).counts["done"] == 4
    assert sweep(budget_s=3.0).counts["done"] == 4, "results under another setting never count"
    facts = sweep_facts(find_sweep())
    assert (facts["state"], facts["jobs"], facts["outcomes"]) == ("done", 4, {"correct": 4})


def test_a_model_s_failures_are_tried_again_up_to_the_cap_and_kept_aside(cache, monkeypatch):
    from popcorn.agents.providers.baseline import Baseline

    calls = []

    async def broken(self, *_):
        calls.append(1)
        raise RuntimeError("the provider is down")

    monkeypatch.setattr(Baseline, "generate", broken)
    monkeypatch.setattr("popcorn.agents.loop._PAUSE_S", 0.0)
    matrix = make_matrix({**SMALL, "models": ["baseline/eager"], "problems": ["original/L1/36"], "retries": {"api_error": 1}}, "small")
    session = run_here(prepare(matrix), open_pretend)
    plan = make_plan(matrix, Done(cache))
    assert (session.counts["done"], session.counts["failed"], plan.cells[0].given_up, plan.missing) == (0, 2, 1, [])
    assert read_runs(cache / "runs" / "agents") == [] and len(list((cache / "attempts").iterdir())) == 2
    monkeypatch.undo()
    os.environ["POPCORN_CACHE_DIR"] = str(cache)
    Done(cache).forgive([job.id for job in plan.jobs], "small")
    assert run_here(prepare(matrix), open_pretend).counts["done"] == 1
    del os.environ["POPCORN_CACHE_DIR"]


def test_a_fault_of_ours_is_tried_again_and_a_wrong_kernel_is_not(cache, monkeypatch):
    judge, faults = PretendEngine._judge, []

    def faulty(self, request):
        if len(faults) < 1:
            faults.append(1)
            raise OSError("the disk is full")
        return judge(self, request)

    monkeypatch.setattr(PretendEngine, "_judge", faulty)
    session = sweep(models=["baseline/eager"], problems=["original/L1/36"])
    assert session.counts["done"] == 1 and len(list(Store(cache / "records"))) == 1


def test_a_job_that_cannot_be_done_here_says_why_and_waits_for_another_machine(cache):
    matrix = make_matrix({**SMALL, "models": ["gpt-5"], "problems": ["original/L1/36"]}, "small")
    os.environ.pop("OPENAI_API_KEY", None)
    session = run_here(prepare(matrix), open_pretend)
    assert session.counts["refused"] == 1 and "OPENAI_API_KEY" in (session.folder.path / "log.txt").read_text()
    assert make_plan(matrix, Done(cache)).cells[0].refused == 1


def test_ctrl_c_drains_and_a_second_one_lets_go(cache, tmp_path):
    code = """
import os
from tests.sweep.test_working import SMALL, open_pretend, make_matrix, prepare, run_here
session = run_here(prepare(make_matrix({**SMALL, "agents_per_gpu": 1, "repeats": 3, "trials": int(os.environ["TRIALS"])}, "small")), open_pretend)
print("ended", session.stopping, session.counts["done"])
"""
    folder = cache / "sweeps" / "small"
    for seconds, signals, expected in (("3.0", 1, "drain"), ("10.0", 2, "now")):
        for name in ("status/0.json", "log.txt"):
            (folder / name).unlink(missing_ok=True)
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PRETEND_S": seconds,
            "TRIALS": str(5 + signals),
        }  # a question of its own: nothing is remembered
        started = subprocess.Popen(
            [sys.executable, "-c", code], env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background of a shell inherit that it is ignored
        )  # fmt: skip
        wait_for(lambda: json.loads((folder / "status" / "0.json").read_text())["active"])
        started.send_signal(signal.SIGINT)
        if signals > 1:
            wait_for(lambda: "drains: a signal" in (folder / "log.txt").read_text())
            started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=90)
        assert f"ended {expected}" in out, err[-1500:]
    assert sweep_facts(find_sweep())["state"] == "stopped"


def test_a_folder_s_stop_is_heard_and_two_processes_do_not_work_on_one_sweep(cache, monkeypatch):
    folder = prepare(make_matrix({**SMALL, "repeats": 20, "agents_per_gpu": 1}, "small"))
    drained = threading.Event()
    other: list[str] = []
    judge = PretendEngine._judge

    def slow(self: PretendEngine, request: Request) -> Record:
        if drained.wait(120):
            time.sleep(0.3)
        return judge(self, request)

    def meddle() -> None:
        try:
            while not (folder.path / "status" / "0.json").exists():
                time.sleep(0.02)
            run_here(SweepFolder(folder.path), open_pretend)
        except BadSweep as error:
            other.append(str(error))
        finally:
            folder.drain()
            drained.set()

    monkeypatch.setattr(PretendEngine, "_judge", slow)
    meddling = threading.Thread(target=meddle)
    meddling.start()
    session = run_here(folder, open_pretend)
    meddling.join()
    assert session.stopping == "drain" and session.counts["done"] < 80
    assert "another process works" in other[0]


def test_several_agents_share_the_device_in_arrival_order(cache):
    sweep(problems=["original/L1/36", "original/L1/23", "original/L1/89", "popcorn/L1/29"], agents_per_gpu=4, models=["scripted/brisk"])
    (status,) = find_sweep().workers()
    assert status["asked"] == 4 and status["remembered"] == 0 and status["state"] == "ended"


def test_a_gate_closes_after_failed_controls_and_says_so():
    told, rested = [], []
    record = make_record("correct", measurement=make_measurement(make_timing(control={"fit": False, "reason": "A/A"})))
    gate = Gate(record.machine.model_copy(update={"kind": "cpu"}), told.append, rested.append)
    for _ in range(UNFIT_IN_A_ROW):
        gate.wait()
        gate.learn(record)
    gate.wait()
    assert len(rested) == 1 and "paused" in told[0] and "goes on" in told[1]


def test_the_machine_s_own_control_is_run_before_a_session_and_said(cache, monkeypatch):
    asked = []

    def judged(request, bench, store, *_):
        asked.append((request.source.count("ModelNew"), store.folder.name))
        return make_record("correct", measurement=make_measurement(make_timing(control={"fit": False, "reason": "A/A"})))

    monkeypatch.setattr("popcorn.evaluate.evaluate", judged)
    (place,) = open_pretend("cpu", 1, Store(cache / "records"), print)
    assert control(place, cache) is None, "a place without a bench of its own has none"
    place.gate = Gate(place.machine(), print)
    place.engine.engine.bench = object()
    assert control(place, cache) is False and asked == [(1, "controls")]


def test_the_commands_plan_and_tell_and_refuse_in_one_sentence(cache, tmp_path, monkeypatch):
    run = CliRunner()
    planned = run.invoke(app, ["sweep", "plan", str(ROOT / "sweeps" / "smoke.toml")])
    assert planned.exit_code == 0 and "72 missing" in planned.stdout and max(map(len, planned.stdout.splitlines())) <= 100
    facts = json.loads(run.invoke(app, ["sweep", "plan", str(ROOT / "sweeps" / "smoke.toml"), "--json"]).stdout)
    assert facts["missing"] == 72 and facts["expected_dollars"] == 0
    # models that do not think wait for the device all the time: more agents make nothing shorter
    assert facts["expected_hours"] == pytest.approx(72 * (AROUND_S + 3 * 0.2) / 3600)
    for arguments, code, said in (
        (["sweep", "plan", "nothing.toml"], 69, "cannot be read"), (["sweep", "status", "nobody"], 69, "no sweep"),
        (["sweep", "submit", str(ROOT / "sweeps" / "smoke.toml"), "--local", "--container-image", "x"], 69, "--container-image"),
        (["sweep", "submit", str(ROOT / "sweeps" / "smoke.toml"), "--local", "--curves-only"], 69, "op sweeps"),
    ):  # fmt: skip
        done = run.invoke(app, arguments)
        assert done.exit_code == code and said in re.sub(r"\s+", " ", done.output), done.output
    sweep()
    assert "4 of 4 jobs" in run.invoke(app, ["sweep", "status", "small"]).stdout
    folder = SweepFolder(cache / "sweeps" / "small")
    assert "nothing to stop" in run.invoke(app, ["sweep", "stop", "small"]).stdout and folder.draining() is None
    monkeypatch.setattr("popcorn.sweep.showing.sweep_facts", lambda _: {"state": "running"})
    assert "drains" in run.invoke(app, ["sweep", "stop", "small"]).stdout and folder.draining() == "drain"


def test_a_sweep_for_a_gpu_begins_on_no_processor(tmp_path, monkeypatch):
    monkeypatch.setattr("popcorn.sweep.places.devices", lambda: ["cpu"])
    with pytest.raises(BadSweep, match="for a GPU, and there is none here"):
        open_places("cuda", None, Store(tmp_path), print)
