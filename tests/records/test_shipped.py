"""Records that ship with the package: found beside one's own, which they never replace."""

import pytest

from popcorn.bench.view import list_cases, summarise
from popcorn.records import shipped
from popcorn.records.shipped import shipped_records, shipped_tables
from popcorn.records.store import Store
from popcorn.records.tables import write_table
from tests.test_dispatch import row


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "reports")
    return tmp_path / "reports"


def test_an_op_s_rows_are_found_among_those_of_all_files(folder):
    assert shipped_tables() == [] and shipped_records("swiglu") == ()
    one, other = row("popcorn", 2.0), row("torch", 1.0, dims={"R": 2, "D": 8})
    write_table([one], folder / "a.parquet")
    write_table([other], folder / "b.parquet")
    shipped._read.cache_clear()
    assert {record.id for record in shipped_records(one.subject.problem)} == {one.id, other.id}
    assert shipped_records("no_such_op") == ()


def test_a_store_and_what_ships_are_viewed_together_and_the_newer_row_counts(folder, tmp_path):
    write_table([row("popcorn", 2.0), row("torch", 1.0)], folder / "a.parquet")
    store = Store(tmp_path / "cache" / "records")
    newer = row("popcorn", 3.0)
    store.append(newer.model_copy(update={"provenance": newer.provenance.model_copy(update={"made": "2999-01-01T00:00:00+00:00"})}))
    (popcorn, torch) = summarise([store, *shipped_tables()])
    assert (popcorn["speedup"], torch["speedup"]) == (pytest.approx(3.0), pytest.approx(1.0))
    assert len(list_cases([store, *shipped_tables()], newer.subject.problem)) == 2
