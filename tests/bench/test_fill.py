"""Filling: each row once, whatever ends a run; what is sampled, sliced, refused and pruned."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from popcorn.bench import fill as filling
from popcorn.bench.asking import Settings
from popcorn.bench.fill import CRASHES, Progress, Row, Sentinel, Slice, fill, plan_rows
from popcorn.cases import NORM, Planned
from popcorn.cli.bench import app
from popcorn.devices.probe import probe
from popcorn.errors import PopcornError
from popcorn.ops.registry import find_op
from popcorn.records.store import Store
from popcorn.schema.case import Case
from popcorn.schema.measurement import Measurement
from popcorn.schema.record import Record
from popcorn.site.live import follow
from tests.test_dispatch import row as made_row

ROOT = Path(__file__).parents[2]
COMMAND = [
    "bench",
    "fill",
    "rms_norm",
    "softmax",
    "swiglu",
    "--implementation",
    "popcorn",
    "--dtype",
    "float32",
    "--slice",
    "D R=16",
    "--judge-only",
    "--limit",
    "1",
]


def rows_of(store: Store) -> list[tuple[str, str]]:
    return [(r.subject.problem, r.subject.implementation, r.case.id) for r in store.find(kind="op")]


def test_killed_half_way_and_resumed_no_case_is_twice_and_none_is_lost(tmp_path):
    env = {**os.environ, "POPCORN_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT), "POPCORN_THREADS": "1"}
    command = [sys.executable, "-m", "popcorn.cli.main", *COMMAND]
    first = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert first.stdout is not None
    first.stdout.readline()  # the first row is made
    time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    store = Store(tmp_path / "records")
    before = rows_of(store)
    assert 1 <= len(before) < 3
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    after = rows_of(store)
    assert len(after) == len(set(after)) == 3 and set(before) <= set(after)
    assert f"{3 - len(before)} measured, {len(before)} known before" in done.stderr
    assert not (tmp_path / "fill.json").exists()
    assert {op for op, _, _ in after} == {"rms_norm", "softmax", "swiglu"}
    followed = subprocess.Popen([*command, "--live", "0"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert followed.stderr is not None
    address = followed.stderr.readline()  # rows at http://127.0.0.1:PORT/events until this ends
    followed.kill()
    followed.wait()
    assert re.search(r"http://127\.0\.0\.1:\d+/events", address)


def test_a_follower_gets_what_was_known_first_then_what_is_measured(tmp_path):
    env = {**os.environ, "POPCORN_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT), "POPCORN_THREADS": "1"}
    command = [sys.executable, "-m", "popcorn.cli.main", *COMMAND]
    alone = [part for part in command if part not in ("rms_norm", "swiglu")]
    subprocess.run(alone, env=env, check=True, capture_output=True, timeout=300)
    known = [record.id for record in Store(tmp_path / "records").find(kind="op")]
    two = [part for part in command if part != "rms_norm"]
    with subprocess.Popen([*two, "--live", "0"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as filling_now:
        assert filling_now.stderr is not None
        port = int(re.search(r":(\d+)/", filling_now.stderr.readline())[1])
        got = list(follow(port))
        filling_now.stderr.read()
    ids = [event.record.id for event in got if event.record]
    assert (got[0].kind, got[-1].kind) == ("hello", "done")
    assert len(known) == 1 and len(ids) == 2 and ids[0] == known[0]
    assert set(ids) == {record.id for record in Store(tmp_path / "records").find(kind="op")}


def test_a_case_that_ends_two_runs_becomes_a_crash_row(tmp_path, bench, monkeypatch):
    monkeypatch.setattr(filling, "shared_bench", lambda device: bench)
    store = Store(tmp_path / "records")
    row = Row(find_op("swiglu"), "popcorn", Planned(Case(dims={"R": 8, "D": 8}), "coverage", 1.0))
    sentinel = Sentinel(tmp_path / "fill.json")
    for _ in range(CRASHES):
        assert not sentinel.crashed(row.key)
        sentinel.set(row.key)
        sentinel = Sentinel(tmp_path / "fill.json")  # the next run finds it
    (record,) = fill([row], store, Settings("cpu", timing=False))
    assert record.verdict.outcome == "crash" and record.kind == "op"
    assert list(fill([row], store, Settings("cpu", timing=False))) == []


def test_what_times_out_prunes_larger_cases_and_pruned_ones_are_no_rows(tmp_path, bench, monkeypatch):
    monkeypatch.setattr(filling, "shared_bench", lambda device: bench)
    op = find_op("swiglu")
    rows = [Row(op, "popcorn", Planned(Case(dims={"R": r, "D": 8}), "production", float(r))) for r in (8, 16, 32)]
    asked = []

    def fake_measure(op, implementation, case, settings, store):
        from popcorn.bench.asking import request_for
        from popcorn.evaluate import record_crash

        asked.append(case.dims["R"])
        record = record_crash(request_for(op, implementation, case, settings), bench, store, "made up for a test")
        return record.model_copy(update={"verdict": record.verdict.model_copy(update={"outcome": "timeout"})})

    monkeypatch.setattr(filling, "measure", fake_measure)
    progress = Progress()
    list(fill(rows, Store(tmp_path / "records"), Settings("cpu"), progress=progress))
    assert asked == [8] and (progress.done, progress.pruned) == (1, 2)


def test_a_plan_is_the_same_every_time_and_limited_by_cases():
    machine = probe("cpu")
    op = find_op("rms_norm")
    rows = plan_rows([op], machine, ["torch", "popcorn"], limit=5)
    again = plan_rows([op], machine, ["torch", "popcorn"], limit=5)
    assert [row.key for row in rows] == [row.key for row in again]
    assert len(rows) == 10 and len({row.planned.case.id for row in rows}) == 5


def test_implementations_that_refuse_are_told_with_the_reason_and_not_planned():
    progress = Progress()
    gpu = probe("cpu").model_copy(update={"kind": "cuda"})
    assert plan_rows([find_op("rms_norm")], gpu, ["popcorn"], limit=3, progress=progress) == []
    assert progress.refused == {"rms_norm popcorn": "runs on cpu only; the call is on cuda"}


def test_a_slice_varies_one_size_over_all_values_that_the_plan_has():
    chosen = Slice.read("D dtype=bfloat16 R=128", find_op("rms_norm"))
    (curve,) = chosen.of(NORM).curves
    assert (curve.axis, curve.fixed, chosen.precision) == ("D", {"R": 128}, "bfloat16")
    assert {64, 129, 16384} <= set(curve.values)
    with pytest.raises(PopcornError, match="expected `AXIS"):
        Slice.read("Z R=1", find_op("rms_norm"))


def test_a_slice_may_name_scalars_as_the_explorer_does():
    op = find_op("rms_norm")
    assert Slice.read("R dtype=bfloat16 D=4096 eps=0.000001", op).scalars == {"eps": 1e-6}
    rows = plan_rows([op], probe("cpu"), ["torch"], only="R D=64 eps=0.5", limit=2)
    assert {row.planned.case.scalars["eps"] for row in rows} == {0.5}
    for wrong in ("R eps=much", "R dtype=float3"):
        with pytest.raises(PopcornError, match="eps"):
            Slice.read(wrong, op)


@pytest.mark.parametrize(
    ("given", "port"), [(["--live"], 8765), (["--live", "9000"], 9000), (["--live", "--timeout", "5"], 8765), ([], None)]
)
def test_live_alone_means_the_usual_port(given, port):
    command = typer.main.get_command(app).get_command(None, "fill")
    assert command.make_context("fill", ["rms_norm", *given]).params["live"] == port


def test_a_torn_sentinel_counts_as_none(tmp_path):
    (tmp_path / "fill.json").write_text('{"key": [')
    assert Sentinel(tmp_path / "fill.json").left is None
    (tmp_path / "fill.json").write_text(json.dumps({"key": ["a"], "runs": 2}))
    assert Sentinel(tmp_path / "fill.json").crashed(("a",))


@pytest.fixture
def measured(tmp_path, bench, monkeypatch):
    """Rows asked, as (case, budget); the answer to each is popped from `fits`: True, False, or an outcome."""
    asked, fits = [], []
    store = Store(tmp_path / "records")

    def fake_measure(op, implementation, case, settings, into):
        asked.append((case.dims["R"], settings.budget_s))
        record, answer = made_row(implementation, dims=case.dims), fits.pop(0) if fits else True
        timing = record.measurement.timing
        control = timing.control.model_copy(update={"fit": answer is True, "reason": None if answer is True else "noisy"})
        measurement = record.measurement.model_copy(update={"timing": timing.model_copy(update={"control": control})})
        made = record.provenance.model_copy(update={"made": f"2026-11-30T00:00:{len(asked):02}"})
        update = {"id": f"{len(asked):016x}", "measurement": measurement, "provenance": made, "machine": bench.machine}
        record = record.model_copy(update=update)
        if isinstance(answer, str):
            verdict = record.verdict.model_copy(update={"outcome": answer, "reason": "by the clock"})
            record = record.model_copy(update={"verdict": verdict, "measurement": Measurement()})
        into.append(record)
        return record

    monkeypatch.setattr(filling, "shared_bench", lambda device: bench)
    monkeypatch.setattr(filling, "measure", fake_measure)
    rows = [Row(find_op("swiglu"), "popcorn", Planned(Case(dims={"R": r, "D": 8}), "production", float(r))) for r in (8, 16, 32)]
    return asked, fits, store, rows


def test_rows_whose_controls_did_not_pass_are_measured_again_at_the_end_with_twice_the_time(measured):
    asked, fits, store, rows = measured
    fits += [False, True, "cheated", True, False]
    progress = Progress()
    list(fill(rows, store, Settings("cpu", budget_s=1.0), progress=progress, again=1))
    assert asked == [(8, 1.0), (16, 1.0), (32, 1.0), (8, 2.0), (32, 2.0)]
    assert (progress.done, progress.again, progress.unfit, progress.left) == (3, 2, 1, 0)
    list(fill(rows, store, Settings("cpu", budget_s=1.0), again=2))
    assert asked[5:] == [(32, 2.0)], "in a later run only what is still in doubt, and only as often as it takes"
    list(fill(rows, store, Settings("cpu", budget_s=1.0), again=2))
    assert len(asked) == 6


def test_without_asking_for_it_no_row_is_measured_twice(measured):
    asked, fits, store, rows = measured
    fits += [False, False, False]
    progress = Progress()
    list(fill(rows, store, Settings("cpu"), progress=progress))
    list(fill(rows, store, Settings("cpu")))
    assert len(asked) == 3 and progress.unfit == 3


def test_no_row_is_begun_when_the_time_is_up_and_a_later_run_goes_on(measured):
    asked, _, store, rows = measured
    progress = Progress()
    assert list(fill(rows, store, Settings("cpu"), progress=progress, within_s=0.0)) == []
    assert (progress.done, progress.left) == (0, 3)
    assert len(list(fill(rows, store, Settings("cpu"), within_s=3600))) == 3 and len(asked) == 3


def test_ops_take_turns_and_half_of_the_cases_have_gradients():
    machine, ops = probe("cpu"), [find_op("rms_norm"), find_op("softmax")]
    rows = plan_rows(ops, machine, ["popcorn"], limit=4, precisions=("float32",), curves_only=True)
    assert [row.op.name for row in rows] == ["rms_norm", "softmax"] * 4
    for op in ("rms_norm", "softmax"):
        own = [row.planned for row in rows if row.op.name == op]
        assert sorted(one.case.gradient for one in own) == ["grad", "grad", "none", "none"]
        assert [one.cost for one in own] == sorted(one.cost for one in own)


def test_cases_beyond_the_largest_are_left_out():
    op = find_op("rms_norm")
    rows = plan_rows([op], probe("cpu"), ["popcorn"], precisions=("float32",), largest_bytes=1e6)
    assert rows and all(op.min_bytes(row.planned.case.dims, 4) <= 1e6 for row in rows)


def test_a_program_gets_a_record_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    chosen = ["--implementation", "popcorn", "--dtype", "float32", "--judge-only", "--device", "cpu", "--limit", "1", "--json"]
    told = CliRunner().invoke(app, ["fill", "softmax", *chosen])
    records = [Record.model_validate_json(row) for row in told.stdout.splitlines()]
    assert told.exit_code == 0 and len(records) == 1 and records[0].verdict.correct


@pytest.mark.parametrize(("option", "value"), [("--dtype", "float31"), ("--implementation", "nobody")])
def test_a_word_that_names_nothing_is_refused_with_those_that_do(option, value):
    told = CliRunner().invoke(app, ["fill", "softmax", option, value])
    assert told.exit_code == 2 and re.search("float32|popcorn", told.output) and value in told.output
