"""Merging adds what is missing, tells conflicts, leaves incomplete rows out when asked."""

import json
from pathlib import Path

import pytest

from popcorn.errors import MissingFile
from popcorn.records.runs import read_runs, write_run
from popcorn.records.store import Store
from popcorn.schema.run import Run
from popcorn.sweep.done import Done
from popcorn.sweep.merging import merge_caches
from tests.made_records import make_record

RUN = Run(id="a" * 16, problem="original/L1/36", model="m", tier="all", language="c", precision="float32")


def cache(path: Path, *outcomes: str, ended: str | None = "submit", job: str | None = None) -> Path:
    Store(path / "records").extend(
        [
            make_record(outcome, made=f"2025-11-29T10:00:0{number}.000001+00:00", id=f"{path.name}{number}".ljust(16, "0"))
            for number, outcome in enumerate(outcomes)
        ]
    )
    write_run(RUN.model_copy(update={"ended_by": ended}), path / "runs" / "agents")
    if job:
        Done(path).add(job, "done", "sweep", outcome="correct")
    return path


def test_shards_runs_and_ends_come_together_once(tmp_path):
    first, second = cache(tmp_path / "n1", "correct", job="j1"), cache(tmp_path / "n2", "correct", ended=None, job="j2")
    into = tmp_path / "all"
    told = merge_caches([second, first], into)
    assert (told.records, told.jobs) == (2, 2)
    assert [run.ended_by for run in read_runs(into / "runs" / "agents")] == ["submit"], "the run that ended wins"
    assert set(Done(into).read().done) == {"j1", "j2"}
    again = merge_caches([first, second], into)
    assert (again.records, again.runs, again.jobs) == (0, 0, 0)


def test_what_failed_attempts_cost_and_what_they_had_reached_come_along(tmp_path):
    source, into = cache(tmp_path / "n1", "correct"), tmp_path / "all"
    for _ in range(2):
        Done(source).add("j1", "api_error", "sweep", reason="500", tokens=10, cost_usd=1.0)
    broken = source / "runs" / "agents" / "b"
    broken.mkdir()
    (broken / "journal.jsonl").write_text("{}\n")
    for runs in (2, 0):
        assert merge_caches([source], into).runs == runs
        assert Done(into).spent("sweep").dollars == 2.0 and Done(into).read().failures["j1"]["api_error"] == 2
    assert (into / "runs" / "agents" / "b" / "journal.jsonl").is_file()


def test_conflicts_are_told_and_incomplete_rows_are_scrubbed(tmp_path):
    first, second = cache(tmp_path / "n1", "correct", "harness_error"), cache(tmp_path / "n2", "wrong_values")
    told = merge_caches([first, second], tmp_path / "all", scrub=True)
    assert told.scrubbed == 1 and any("correct and wrong_values" in one for one in told.conflicts)
    assert "harness_error" not in {record.verdict.outcome for record in Store(tmp_path / "all" / "records")}
    kept = merge_caches([first], tmp_path / "more")
    assert kept.scrubbed == 0 and len(Store(tmp_path / "more" / "records")) == 2


def test_a_file_of_lines_and_a_sweep_s_folder_are_sources_too(tmp_path):
    lines = tmp_path / "rows.jsonl"
    lines.write_text(make_record("correct").model_dump_json() + "\nnot a record\n")
    told = merge_caches([lines], tmp_path / "all")
    assert told.records == 1 and "rows.jsonl:2" in told.conflicts[0]
    cache(tmp_path / "sweep" / "cache", "correct")
    cache(tmp_path / "sweep" / "shards" / "3", "correct")
    assert merge_caches([tmp_path / "sweep"], tmp_path / "all").records == 2
    with pytest.raises(MissingFile):
        merge_caches([tmp_path / "none"], tmp_path / "all")
    assert json.loads((tmp_path / "all" / "runs" / "agents" / RUN.id / "run.json").read_text())["ended_by"] == "submit"
