"""Records as files for other programs, and back."""

import csv

import duckdb
import pytest

from popcorn.errors import BadRecord
from popcorn.records.exporting import export, incomplete, read_parquet
from popcorn.records.store import Store
from popcorn.records.tables import merge
from tests.test_dispatch import row


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "a" / "records")
    made.extend([row("popcorn", 2.0), row("inductor", 1.5), row("popcorn", outcome="crash", dims={"R": 1, "D": 8})])
    return made


def test_parquet_holds_everything_and_comes_back_the_same(store, tmp_path):
    assert export(store, tmp_path / "rows.parquet") == 3
    assert sorted(read_parquet(tmp_path / "rows.parquet"), key=lambda one: one.id) == sorted(store, key=lambda one: one.id)
    into = Store(tmp_path / "b" / "records")
    assert merge([read_parquet(tmp_path / "rows.parquet"), store], into) == 3 and len(into) == 3


def test_csv_has_figures_and_no_texts(store, tmp_path):
    assert export(store, tmp_path / "rows.csv", problem="swiglu") == 3
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {one["speedup"] for one in rows} == {"2.0", "1.5", ""}
    assert "source" not in rows[0] and "blocks_s" not in rows[0] and rows[0]["problem"] == "swiglu"
    assert export(store, tmp_path / "none.csv", problem="softmax") == 0


def test_a_text_that_a_spreadsheet_would_run_is_quoted(tmp_path):
    store = Store(tmp_path / "records")
    bad = row("popcorn", outcome="crash")
    store.append(bad.model_copy(update={"verdict": bad.verdict.model_copy(update={"reason": "=HYPERLINK(1)"})}))
    export(store, tmp_path / "rows.csv")
    assert ",'=HYPERLINK(1)," in (tmp_path / "rows.csv").read_text()


def test_another_ending_is_refused_and_leaves_nothing(store, tmp_path):
    with pytest.raises(BadRecord, match=r"\.csv or \.parquet"):
        export(store, tmp_path / "rows.xlsx")
    assert not (tmp_path / "rows.xlsx").exists()


def test_a_table_of_others_is_no_record(tmp_path):
    duckdb.sql("SELECT 1 AS id, 'x' AS made").write_parquet(str(tmp_path / "foreign.parquet"))
    with pytest.raises(BadRecord):
        list(read_parquet(tmp_path / "foreign.parquet"))


def test_incomplete_rows_can_be_left_out_of_a_merge(tmp_path):
    fault, never_timed, good = row("popcorn", outcome="harness_error"), row("popcorn", timed=False), row("popcorn", 3.0)
    source, into = Store(tmp_path / "a" / "records"), Store(tmp_path / "b" / "records")
    source.extend([fault, never_timed, good])
    assert merge([source], into, lambda record: incomplete(record) is None) == 1 and into.ids() == [good.id]
