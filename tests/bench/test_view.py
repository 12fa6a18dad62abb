"""Tables of what is known: quick for many rows, and honest about what differs between two stores."""

import io
import time

import duckdb
import pytest
from rich.console import Console

from popcorn.bench.view import cases, differences, summarise, summary
from popcorn.records.store import Store
from popcorn.records.tables import write_table
from popcorn.site.build import build
from popcorn.site.gather import Source
from tests.test_dispatch import row


def shown(table, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """150,000 rows of one shape: 30 ops, 5 implementations, 1,000 cases each."""
    folder = tmp_path_factory.mktemp("many")
    write_table([row("popcorn", 2.0)], folder / "one.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT one.* REPLACE (
                      'op_' || (i % 30) AS problem, 'made_' || (i // 30 % 5) AS implementation, 'R' || (i // 150) AS case_id,
                      md5(i::VARCHAR)[:16] AS id, (0.5 + (i % 7))::DOUBLE AS speedup, 'hash' || (i % 30) AS problem_hash)
                  FROM '{folder / "one.parquet"}' AS one, range(150000) AS numbers(i)) TO '{folder / "many.parquet"}' (FORMAT parquet)
        """)
    return folder / "many.parquet"


def test_a_summary_of_150_000_rows_takes_under_3_seconds(many):
    began = time.process_time()
    text = shown(summary(many))
    assert time.process_time() - began < 3
    assert "op_0" in text and "made_4" in text and "1000" in text


def test_no_page_of_150_000_rows_is_over_5_mb(many, tmp_path):
    built = build([Source("records", many)], tmp_path / "site", processes=1)
    sizes = {path: path.stat().st_size for path in built.folder.rglob("*") if path.is_file()}
    assert (built.folder / "ops" / "op_3.html").is_file() and max(sizes.values()) < 5_000_000
    assert len(list((built.folder / "ops" / "op_3").glob("*.js"))) == 2  # 5,000 rows, 4,000 in a file


def test_the_cases_of_one_op_are_limited(many):
    assert shown(cases(many, "op_3", limit=10)).count("1.00 ms") == 10


def test_a_summary_gives_means_and_counts(tmp_path):
    store = Store(tmp_path / "records")
    store.extend([row("popcorn", 2.0), row("popcorn", 8.0, dims={"R": 1, "D": 8}), row("popcorn", outcome="crash", dims={"R": 2, "D": 8})])
    text = shown(summary(store))
    assert "4.00×" in text and "2.00×" in text and "8.00×" in text
    assert "2 of 3" in text
    (row_,) = summarise(store)
    assert (row_["cases"], row_["correct"]) == (3, 2) and row_["speedup"] == pytest.approx(4.0)


def test_tables_fit_the_terminal_and_an_empty_store_says_what_would_fill_it(tmp_path):
    store = Store(tmp_path / "records")
    assert "popcorn bench fill" in shown(summary(store)) and "popcorn bench fill softmax" in shown(cases(store, "softmax"))
    store.extend([row("inductor", 2.0), row("popcorn", outcome="wrong_values", dims={"R": 1048576, "D": 131072})])
    for view in (summary(store), cases(store, "swiglu")):
        lines = [line.rstrip() for line in shown(view, width=200).splitlines()]
        assert lines and max(len(line) for line in lines) <= 100
        assert "inductor" in shown(view, width=80) and "popcorn" in shown(view, width=80)


def test_a_row_of_the_reference_itself_is_explained_and_no_other(tmp_path):
    store = Store(tmp_path / "records")
    store.append(row("popcorn"))
    assert "held against itself" not in shown(summary(store)) + shown(cases(store, "swiglu"))
    store.append(row("torch", 1.0))
    assert all(
        "torch: the reference as an implementation, held against itself" in shown(view) for view in (summary(store), cases(store, "swiglu"))
    )


def test_differences_are_intervals_that_do_not_meet_and_outcomes_that_changed(tmp_path):
    before, after = Store(tmp_path / "a" / "records"), Store(tmp_path / "b" / "records")
    small, large, other = {"R": 1, "D": 8}, {"R": 2, "D": 8}, {"R": 3, "D": 8}
    before.extend([row("popcorn", time_s=1.0, dims=small), row("popcorn", time_s=1.0, dims=large), row("popcorn", time_s=1.0, dims=other)])
    after.extend(
        [row("popcorn", time_s=1.5, dims=small), row("popcorn", time_s=1.01, dims=large), row("popcorn", outcome="crash", dims=other)]
    )
    changed, slower = differences(before, after)
    assert (changed["before"], changed["after"], changed["ratio"]) == ("correct", "crash", None)
    assert slower["ratio"] == pytest.approx(1.5) and slower["case"] == "R1-D8-fp32"
