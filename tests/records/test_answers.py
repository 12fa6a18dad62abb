"""Answers kept beside a store's table: the same as asking, as long as nothing changed, and no longer."""

import json

import pytest

from popcorn.records import answers
from popcorn.records.answers import ask_again
from popcorn.records.store import Store
from popcorn.records.tables import query, write_table
from tests.made_records import identity, make_record

SQL = "SELECT problem, count(*) AS cases FROM counted GROUP BY ALL ORDER BY problem"


def record_of(problem):
    made = make_record()
    return made.model_copy(
        update={"id": identity(problem), "subject": made.subject.model_copy(update={"problem": problem, "problem_hash": problem})}
    )


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "records")
    made.append(make_record())
    return made


@pytest.fixture
def asked(monkeypatch):
    """Statements that reached the tables."""
    seen = []
    monkeypatch.setattr(answers, "query", lambda sql, *rest: seen.append(sql) or query(sql, *rest))
    return seen


def test_an_unchanged_store_is_asked_once_and_answers_the_same(store, asked):
    assert ask_again(SQL, store) == ask_again(SQL, Store(store.folder)) == query(SQL, store).dicts()
    assert asked == [SQL]


def test_a_new_record_a_judgement_another_table_and_another_question_are_asked(store, asked, tmp_path):
    (before,) = ask_again(SQL, store)
    other = record_of("another")
    store.append(other)
    assert [row["cases"] for row in ask_again(SQL, store)] == [1, 1]
    store.ledger.judge(other.id, "condemned", "it was seen to cheat")
    assert ask_again(SQL, store) == [before]
    write_table([record_of("shipped")], tmp_path / "shipped.parquet")
    assert len(ask_again(SQL, [store, tmp_path / "shipped.parquet"])) == 2
    write_table([record_of("shipped"), record_of("more")], tmp_path / "shipped.parquet")
    assert len(ask_again(SQL, [store, tmp_path / "shipped.parquet"])) == 3
    assert ask_again("SELECT count(*) AS n FROM records WHERE problem = ?", store, ["another"]) == [{"n": 1}]
    assert ask_again("SELECT count(*) AS n FROM records WHERE problem = ?", store, ["nobody"]) == [{"n": 0}]
    assert len(asked) == 7


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', '{"a": [1]}', "[" * 100_000, "\x00"])
def test_a_torn_file_of_answers_is_made_again(store, asked, tmp_path, text):
    right = ask_again(SQL, store)
    (tmp_path / "tables" / "answers.json").write_text(text)
    assert ask_again(SQL, store) == right and len(asked) == 2
    assert right in json.loads((tmp_path / "tables" / "answers.json").read_text()).values()


def test_only_so_many_answers_are_kept(store, tmp_path):
    for number in range(answers.MOST + 5):
        ask_again("SELECT ? AS n", store, [number])
    assert len(json.loads((tmp_path / "tables" / "answers.json").read_text())) == answers.MOST
