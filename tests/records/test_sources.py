"""Whatever holds records can be named by its path."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from popcorn.cli.main import app
from popcorn.errors import BadRecord, MissingFile
from popcorn.records.ledger import Ledger
from popcorn.records.sources import source_of
from popcorn.records.store import Store
from popcorn.records.tables import query, write_table
from tests.made_records import make_record


@pytest.fixture
def records():
    return [make_record(made=f"2025-11-29T10:00:0{number}.000001+00:00") for number in range(3)]


def ids_of(source):
    return sorted(row["id"] for row in query("SELECT id FROM records", source).dicts())


def lines_of(records):
    return "".join(record.model_dump_json() + "\n" for record in records)


def test_a_folder_a_cache_a_file_of_lines_and_a_parquet_file_give_the_same(tmp_path, records):
    Store(tmp_path / "cache" / "records").extend(records)
    (tmp_path / "all.jsonl").write_text(lines_of(records))
    write_table(records, tmp_path / "all.parquet")
    expected = sorted(record.id for record in records)
    for name in ("cache", "cache/records", "all.jsonl", "all.parquet"):
        assert ids_of(source_of(tmp_path / name)) == expected, name


def test_loose_files_of_lines_in_a_folder_are_read(tmp_path, records):
    for number, record in enumerate(records):
        (tmp_path / f"{number}.jsonl").write_text(lines_of([record]))
    assert len(ids_of(source_of(tmp_path))) == 3


def test_one_record_over_several_lines_and_a_last_line_without_an_end_are_read_and_left_as_they_are(tmp_path, records):
    pretty, torn = tmp_path / "page.json", tmp_path / "piped.jsonl"
    pretty.write_text(json.dumps(json.loads(records[0].model_dump_json()), indent=1))
    torn.write_text(lines_of(records)[:-1])
    before = torn.read_bytes()
    assert ids_of(source_of(pretty)) == [records[0].id]
    assert len(ids_of(source_of(torn))) == 3
    assert torn.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.json", "piped.jsonl"]


def test_a_line_that_is_no_record_is_told_by_file_and_line_and_the_others_are_read(tmp_path, records):
    path = tmp_path / "mixed.jsonl"
    path.write_text("not a record\n" + lines_of(records))
    store = source_of(path)
    assert len(list(store)) == 3
    assert store.warnings[0].startswith(f"{path}:1: not a record") and len(store.warnings) == 1


def test_a_list_of_records_is_read_as_its_records(tmp_path, records):
    path = tmp_path / "demo.json"
    path.write_text(json.dumps([json.loads(record.model_dump_json()) for record in records], indent=1))
    assert len(ids_of(source_of(path))) == 3


def test_what_was_condemned_beside_loose_files_stays_condemned(tmp_path, records):
    (tmp_path / "mine.jsonl").write_text(lines_of(records))
    (tmp_path / "folder.jsonl").mkdir()
    Ledger(tmp_path).judge(records[0].id, "condemned", "seen to cheat")
    store = source_of(tmp_path)
    assert len(store.find(condemned=False)) == 2 and len(store.find()) == 3


def test_loose_and_nested_files_are_read_both(tmp_path, records):
    Store(tmp_path).extend(records[:1])
    (tmp_path / "more.jsonl").write_text(lines_of(records[1:]))
    assert len(ids_of(source_of(tmp_path))) == 3


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe" * 1000, b"{}\n[1, 2]\n", b"[]"])
def test_a_file_without_a_record_is_refused_with_what_may_be_given(tmp_path, content):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadRecord, match=r"odd.jsonl holds no record; give a cache folder"):
        source_of(path)


def test_what_is_not_there_is_named_with_what_may_be_given(tmp_path):
    with pytest.raises(MissingFile, match=r"nothing does not exist; give a cache folder, .*Parquet"):
        source_of(Path(tmp_path / "nothing"))


def test_a_site_is_made_of_a_file_of_lines_and_says_where_a_folder_holds_none(tmp_path, records):
    (tmp_path / "mine.jsonl").write_text(lines_of(records))
    (tmp_path / "empty").mkdir()
    stores = [part for name in ("mine.jsonl", "empty") for part in ("--store", str(tmp_path / name))]
    made = CliRunner().invoke(app, ["site", "build", "--to", str(tmp_path / "pages"), *stores])
    assert made.exit_code == 0, made.output
    assert f"{tmp_path / 'empty'} holds no record; a store is a cache folder" in made.output
    assert "original/L1/36" in (tmp_path / "pages" / "index.html").read_text()
