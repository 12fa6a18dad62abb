"""Runs on disk: whole or not at all, found in folders of sweeps, a foreign file costs itself alone."""

import pytest

from popcorn.errors import BadRecord, MissingFile, UnwritableStore
from popcorn.records.runs import read_lines, read_run, read_runs, write_run
from popcorn.schema.run import Run, ToolCall, Turn


def make_run(name: str = "sweep-1/a") -> Run:
    call = ToolCall(tool="submit_kernel", arguments={"kernel_code": "</script> \u202e🍿"}, result="ok", wall_s=1.5)
    return Run(
        id=name,
        problem="popcorn/L1/29",
        model="m",
        tier="default",
        language="cuda",
        precision="float32",
        turns=(Turn(index=1, calls=(call,)),),
    )


def test_a_run_comes_back_as_it_was_and_replaces_its_older_self(tmp_path):
    run = make_run()
    path = write_run(run, tmp_path)
    assert path == tmp_path / "sweep-1_a" / "run.json"
    assert read_run(path) == run
    write_run(run.model_copy(update={"ended_by": "submit"}), tmp_path)
    assert [one.ended_by for one in read_runs(tmp_path)] == ["submit"]
    assert [one.name for one in path.parent.iterdir()] == ["run.json"]


def test_runs_are_found_in_folders_of_sweeps_and_a_foreign_file_is_told(tmp_path):
    write_run(make_run("one"), tmp_path / "l12_default")
    write_run(make_run("two"), tmp_path)
    broken = tmp_path / "three" / "run.json"
    broken.parent.mkdir()
    broken.write_text('{"id": "three"}')
    warnings: list[str] = []
    assert [run.id for run in read_runs(tmp_path, warnings)] == ["one", "two"]
    assert len(warnings) == 1 and "problem: Field required" in warnings[0]


def test_what_cannot_be_read_or_written_is_one_sentence(tmp_path):
    with pytest.raises(MissingFile, match="cannot be read"):
        read_run(tmp_path / "run.json")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(BadRecord, match="not a run"):
        read_run(tmp_path / "run.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableStore, match="POPCORN_CACHE_DIR"):
        write_run(make_run(), tmp_path / "file")


def test_lines_that_are_no_objects_are_told_and_left_out(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n[2]\n\n{"b"\n{"c": NaN}\n')
    warnings: list[str] = []
    found = read_lines(tmp_path / "x.jsonl", warnings)
    assert found[0] == {"a": 1} and len(found) == 2 and len(warnings) == 2
    assert read_lines(tmp_path / "absent.jsonl") == []
