"""Building: only what changed is made again, a page of something gone goes too, files of others stay, sources are tables alone."""

import json

import pytest

from popcorn.errors import MissingTool, UnwritableStore
from popcorn.records.runs import write_run
from popcorn.records.store import Store
from popcorn.records.tables import write_table
from popcorn.site.build import MANIFEST, build
from popcorn.site.gather import Source, gather, open_sources
from tests.made_records import make_record
from tests.site.made_store import evaluation, library, make_run, measured


@pytest.fixture
def home(tmp_path):
    store = Store(tmp_path / "records")
    store.extend([evaluation("popcorn/L1/1", "correct", 1, measurement=measured(1e-5, 2.0, 0.5)), evaluation("popcorn/L1/2", "timeout", 2)])
    return tmp_path


def source(home) -> list[Source]:
    return [Source("mine", Store(home / "records"), home / "runs", home / "searches")]


def test_a_second_build_makes_nothing_and_a_new_record_makes_its_pages_alone(home):
    first = build(source(home), home / "site")
    assert first.made > 20 and first.kept == 0
    again = build(source(home), home / "site")
    assert (again.made, again.kept, again.removed) == (0, first.made, 0)
    Store(home / "records").append(evaluation("popcorn/L1/3", "correct", 3, measurement=measured(1e-5, 3.0, 0.5)))
    third = build(source(home), home / "site")
    # the record, its problem, the list of problems, of evaluations and their rows, the first page
    assert third.made <= 8 and third.kept >= first.made - 6


def test_a_judgement_and_a_longer_run_are_seen(home):
    record = next(iter(Store(home / "records")))
    write_run(make_run("r", "popcorn/L1/1", "m", "default", record, turns=2), home / "runs")
    build(source(home), home / "site")
    page = home / "site" / "runs" / "r.html"
    assert "condemned" not in page.read_text() and page.read_text().count('class="turn"') == 2
    Store(home / "records").ledger.judge(record.id, "condemned", "it answered from a file")
    write_run(make_run("r", "popcorn/L1/1", "m", "default", record, turns=3), home / "runs")
    build(source(home), home / "site")
    assert "it answered from a file" in page.read_text() and page.read_text().count('class="turn"') == 3
    standings = (home / "site" / "index.html").read_text()
    assert '"cheat":1' in standings and '"correct":0' in standings


def test_pages_of_what_is_gone_are_removed_and_other_files_stay(home):
    write_run(make_run("gone", "popcorn/L1/1", "m", "default", None, ended_by="turns"), home / "runs")
    site = home / "site"
    build(source(home), site)
    (site / "CNAME").write_text("example.org")
    assert (site / "runs" / "gone.html").exists()
    (home / "runs" / "gone" / "run.json").unlink()
    assert build(source(home), site).removed >= 2
    assert not (site / "runs" / "gone.html").exists() and (site / "CNAME").read_text() == "example.org"


def test_a_deleted_page_is_made_again_and_a_broken_manifest_costs_time_alone(home):
    site = home / "site"
    build(source(home), site)
    (site / "evaluations.html").unlink()
    assert build(source(home), site).made == 1
    (site / MANIFEST).write_text("[1, 2")
    assert build(source(home), site).kept == 0 and json.loads((site / MANIFEST).read_text())


def test_a_manifest_cannot_make_a_build_remove_files_elsewhere(home):
    site = home / "site"
    build(source(home), site)
    (home / "precious").write_text("x")
    known = json.loads((site / MANIFEST).read_text())
    known["evil.html"] = {"digest": "", "files": ["../precious"]}
    (site / MANIFEST).write_text(json.dumps(known))
    build(source(home), site)
    assert (home / "precious").exists()


def test_an_empty_store_and_a_parquet_file_make_sites_too(tmp_path):
    empty = build([Source("none", Store(tmp_path / "records"))], tmp_path / "a")
    assert "No agent has run yet" in empty.index.read_text()
    write_table([make_record(), *library()[:6]], tmp_path / "t.parquet")
    built = build([Source("table", tmp_path / "t.parquet")], tmp_path / "b")
    assert (tmp_path / "b" / "ops" / "rms_norm.html").exists() and (tmp_path / "b" / "records" / f"{make_record().id}.html").exists()
    assert built.warnings == []


def test_what_cannot_be_done_is_one_sentence(home, monkeypatch):
    (home / "file").write_text("")
    with pytest.raises(UnwritableStore, match="--to"):
        build(source(home), home / "file")
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingTool, match=r"pip install 'popcornbench\[site\]'"):
        build(source(home), home / "site")


def test_a_record_that_several_runs_share_belongs_to_the_one_that_asked_first_and_is_named_by_its_model(tmp_path):
    record = evaluation("popcorn/L1/1", "correct", 1, name="kernel.c")
    store = Store(tmp_path / "records")
    store.append(record)
    for name, model, started in (("a", "late", "2025-11-30"), ("b", "first", "2025-11-28"), ("c", "later", "2025-11-29")):
        write_run(make_run(name, "popcorn/L1/1", model, "all", record).model_copy(update={"started": started}), tmp_path / "runs")
    source = Source("mine", store, tmp_path / "runs")
    with open_sources([source]) as tables:
        found = gather([source], tables)
    assert [(row["run"], row["name"]) for row in found.evaluations] == [("b", "first")]


def test_a_run_whose_record_lies_elsewhere_says_so_and_what_the_run_itself_says(tmp_path):
    record = evaluation("popcorn/L1/1", "correct", 1)
    run = make_run("a", "popcorn/L1/1", "m", "all", record).model_copy(
        update={"outcome": "correct", "speedup": 2.5, "submitted_by": "harness"}
    )
    write_run(run, tmp_path / "runs")
    built = build([Source("mine", Store(tmp_path / "records"), tmp_path / "runs")], tmp_path / "site")
    page = (built.folder / "runs" / "a.html").read_text()
    assert f"its record {record.id} is in none of the stores" in page and "the run itself says: correct, 2.50×" in page
    assert "no kernel was submitted" not in page and "the harness" in page and "the best correct kernel so far" in page
