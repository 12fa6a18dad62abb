"""Op sweeps: phases in order, each in an environment of its own or skipped with its reason; rows measured once, folded, resumed."""

import json
from pathlib import Path

import pytest

from popcorn.devices.probe import probe
from popcorn.errors import BadSweep
from popcorn.records.store import Store
from popcorn.sweep import phases
from popcorn.sweep.filling import done_rows, fold, groups, phase_facts, phases_to_do, plan_ops, rows_of
from popcorn.sweep.folder import Spec, SweepFolder
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.phases import PHASES, environment_key, find_phase, make_environment, why_skipped
from popcorn.sweep.submitting import prepare, run_here
from tests.made_records import keep_ceilings, make_record

OPS = {"ops": ["softmax"], "phases": ["popcorn", "reference", "cudnn"], "precisions": ["float32"], "limit": 1, "curves_only": True}


def matrix(**ops):
    return make_matrix({"name": "ops", "device": "cpu", "budget_s": 0.1, "trials": 5, "control": False, "ops": {**OPS, **ops}}, "ops")


def folder_of(path: Path, **ops) -> SweepFolder:
    folder = SweepFolder(path / "ops")
    folder.keep(Spec(matrix=matrix(**ops), cache=str(path / "cache"), fresh_environments=True))
    return folder


def test_references_come_first_and_a_backend_without_implementations_is_skipped_with_its_reason(tmp_path):
    folder = folder_of(tmp_path)
    assert phases_to_do(folder, folder.spec())[0] == "reference"
    planned = plan_ops(folder.spec().matrix)
    rows = {one["phase"]: one for one in planned["phases"]}
    assert rows["popcorn"]["rows"] >= 1 and "no implementation of cudnn" in rows["cudnn"]["reason"]
    with pytest.raises(BadSweep, match="no phase"):
        find_phase("cdnn")


def test_fa3_is_skipped_where_it_is_not_installed(monkeypatch):
    assert why_skipped(PHASES["cudnn"], {"cudnn"}) is None, "torch brings it"
    for spec, works in ((None, False), (object(), True)):
        monkeypatch.setattr(phases, "find_spec", lambda name, found=spec: found)
        assert (why_skipped(PHASES["fa3"], {"fa3"}) is None) is works


def test_an_environment_is_fresh_kept_by_its_key_and_made_again_for_another_image(tmp_path):
    folder, phase = folder_of(tmp_path), PHASES["popcorn"]
    python = make_environment(phase, folder)
    stamp = python.parent.parent / "popcorn.key"
    before = stamp.stat().st_mtime_ns
    assert make_environment(phase, folder) == python and stamp.stat().st_mtime_ns == before
    make_environment(phase, folder, image="nvcr.io#nvidia/pytorch:25.09-py3")
    assert stamp.stat().st_mtime_ns != before
    assert environment_key(phase, None) != environment_key(PHASES["liger"], None)
    assert (folder.path / "log.txt").read_text().count("making its environment") == 2


def test_shards_fold_by_id_and_rows_of_another_torch_do_not_count(tmp_path):
    folder = folder_of(tmp_path)
    spec, machine = folder.spec(), probe("cpu")
    (row, *_) = rows_of(spec.matrix, "popcorn", machine)
    plain = make_record("correct", kind="op", machine=machine)
    subject = plain.subject.model_copy(
        update={"problem": row.op.name, "problem_hash": row.op.hash, "implementation": "popcorn", "candidate_hash": row.key[3]}
    )
    record = plain.model_copy(update={"subject": subject, "case": row.planned.case})
    other = record.model_copy(update={"id": "1" * 16, "machine": machine.model_copy(update={"torch": "1.0"})})
    for rank, one in enumerate((record, other)):
        Store(folder.path / "shards" / str(rank) / "records").extend([one])
    assert fold(folder, spec) == 2 and fold(folder, spec) == 0
    store = Store(Path(spec.cache) / "records")
    assert done_rows([store], [row], machine, 1) == {row.key}
    assert done_rows([store], [row], machine, 2) == set(), "two rows are wanted, and one is of another torch"
    assert list(groups([row, row])) == [f"softmax.popcorn.float32.{row.planned.case.gradient}"]


def test_a_local_op_sweep_measures_once_and_a_second_one_has_nothing_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "user"))
    folder = prepare(matrix(phases=["popcorn", "cudnn"]), own_cache=True, fresh_environments=True)
    keep_ceilings(folder.path / "cache")
    run_here(folder)
    store = Store(folder.path / "cache" / "records")
    rows = list(store)
    assert [record.subject.implementation for record in rows] == ["popcorn"] and rows[0].verdict.correct
    facts = phase_facts(folder, folder.spec())
    assert facts["missing"] == 0 and "skipped" in json.loads((folder.path / "phases" / "cudnn.json").read_text())["reason"]
    run_here(folder)
    assert len(list(store)) == 1
