"""Filling: each row once, whatever ends a run; what is sampled, sliced, refused and pruned."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from popcorn.bench import fill as filling
from popcorn.bench.asking import Settings
from popcorn.bench.fill import CRASHES, Progress, Row, Sentinel, Slice, fill, plan_rows
from popcorn.cases import NORM, Planned
from popcorn.devices.probe import probe
from popcorn.errors import PopcornError
from popcorn.ops.registry import find_op
from popcorn.records.store import Store
from popcorn.schema.case import Case

ROOT = Path(__file__).parents[2]
COMMAND = [
    "bench",
    "fill",
    "swiglu",
    "--implementation",
    "popcorn",
    "--dtype",
    "float32",
    "--slice",
    "D R=16",
    "--judge-only",
    "--limit",
    "6",
]


def rows_of(store: Store) -> list[tuple[str, str]]:
    return [(r.subject.implementation, r.case.id) for r in store.find(problem="swiglu", kind="op")]


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
    assert 1 <= len(before) < 12
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    after = rows_of(store)
    assert len(after) == len(set(after)) == 6 and set(before) <= set(after)
    assert f"{6 - len(before)} measured, {len(before)} known before" in done.stderr
    assert not (tmp_path / "fill.json").exists()


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


def test_a_torn_sentinel_counts_as_none(tmp_path):
    (tmp_path / "fill.json").write_text('{"key": [')
    assert Sentinel(tmp_path / "fill.json").left is None
    (tmp_path / "fill.json").write_text(json.dumps({"key": ["a"], "runs": 2}))
    assert Sentinel(tmp_path / "fill.json").crashed(("a",))
