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
from popcorn.site.live import follow

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
