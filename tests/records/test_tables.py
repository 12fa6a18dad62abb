"""Tables: every field is a column, every number comes back as it was, the newest conclusive record wins."""

import errno
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.errors import BadRecord, MissingFile
from popcorn.records import tables
from popcorn.records.columns import columns, flatten, unflatten
from popcorn.records.store import Store
from popcorn.records.tables import latest, merge, opened, query, refresh_table, write_table
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from tests.made_records import make_record, records


def test_every_field_of_a_record_is_a_column_of_its_own():
    names = [column.name for column in columns()]
    assert len(set(names)) == len(names)

    def leaves(value, path=()):
        if isinstance(value, dict) and value and path not in paths:
            for name, inner in value.items():
                yield from leaves(inner, (*path, name))
        else:
            yield path

    paths = {column.path for column in columns() if column.path}
    dumped = make_record().model_dump()
    dumped["verdict"]["miss"] = make_record("wrong_values").verdict.miss.model_dump()
    assert set(leaves(dumped)) == paths


def test_the_names_say_the_unit_and_the_side():
    expected = {
        "time_s", "baseline_time_s", "compiled_time_s", "speedup", "speedup_low", "speedup_high", "speedup_compiled", "energy_j", "baseline_energy_j",
        "memory_peak_bytes", "sol", "sol_source", "outcome", "outcome_group", "case_id", "control_aa", "control_fit", "build_s", "wall_s", "made",
    }  # fmt: skip
    assert expected <= {column.name for column in columns()}


def test_numbers_come_back_from_parquet_exactly(tmp_path):
    record = make_record()
    assert write_table([record], tmp_path / "t.parquet") == 1
    (row,) = query("SELECT * FROM records", tmp_path / "t.parquet").dicts()
    for name, value in flatten(record).items():
        got = json.loads(row[name]) if isinstance(value, dict) or (isinstance(value, list) and isinstance(row[name], str)) else row[name]
        assert got == value, name
    assert row["blocks_s"] == [[list(block) for block in launch] for launch in record.measurement.timing.candidate.blocks_s]


@given(st.lists(records(), max_size=8, unique_by=lambda record: record.id))
@settings(max_examples=15, deadline=None)
def test_any_records_come_back_from_a_table(made):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        assert write_table(made, path) == len(made)
        rows = {row["id"]: row for row in query("SELECT id, outcome, time_s, problem, name, source FROM records", path).dicts()}
    assert set(rows) == {record.id for record in made}
    for record in made:
        row = flatten(record)
        assert rows[record.id] == {name: row[name] for name in ("id", "outcome", "time_s", "problem", "name", "source")}


def test_latest_takes_the_newest_conclusive_of_each_question(tmp_path):
    days = [f"2025-11-{day:02d}T00:00:00+00:00" for day in range(1, 9)]
    elsewhere = Machine(device_id="cpu-a", device_name="x", kind="cpu")
    store = Store(tmp_path / "records")
    store.extend(
        [
            make_record("timeout", days[0], id="old"),
            make_record("correct", days[1], id="new"),
            make_record("harness_error", days[2], id="ours"),
            make_record("correct", days[0], id="elsewhere", machine=elsewhere),
            make_record("harness_error", days[3], id="alone", case=Case(dims={"B": 2}, gradient="grad")),
            make_record("correct", days[0], id="half", case=Case(dims={"B": 2}, precision="float16")),
        ]
    )
    assert {row["id"] for row in latest(store).dicts()} == {"new", "elsewhere", "alone", "half"}


@given(st.lists(records(), max_size=10, unique_by=lambda record: record.id), st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_latest_does_not_depend_on_the_order_in_which_records_came(made, chance):
    shuffled = list(made)
    chance.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        stores = []
        for name, of_store in (("a", made), ("b", shuffled)):
            store = Store(Path(folder) / name / "records")
            store.extend(of_store)
            stores.append(store)
        first, second = (latest(store).rows for store in stores)
    assert first == second


def test_a_table_is_rewritten_when_records_were_added_and_not_else(tmp_path):
    store = Store(tmp_path / "records")
    store.append(make_record())
    path = refresh_table(store)
    assert path == tmp_path / "tables" / "records.parquet"
    written = path.stat().st_mtime_ns
    assert refresh_table(store).stat().st_mtime_ns == written
    store.append(make_record("crash"))
    assert query("SELECT count(*) FROM records", store).rows == ((2,),)
    assert query("SELECT outcome FROM records WHERE id = ?", store, [make_record("crash").id]).rows == (("crash",),)


@pytest.mark.parametrize("left", [b"", b"junk", b"PAR1 and then the disk was full"])
def test_a_table_that_was_cut_off_is_made_again(tmp_path, left):
    store = Store(tmp_path / "records")
    store.append(make_record())
    refresh_table(store).write_bytes(left)
    assert query("SELECT count(*) FROM records", store).rows == ((1,),)


def test_an_empty_store_is_an_empty_table(tmp_path):
    assert latest(Store(tmp_path / "records")).rows == ()


def test_merge_adds_what_is_missing_and_can_be_repeated(tmp_path):
    first, second, into = (Store(tmp_path / name / "records") for name in ("a", "b", "into"))
    shared, one, two = make_record(), make_record("crash"), make_record("timeout")
    first.extend([shared, one])
    second.extend([shared, two])
    into.append(one)
    assert merge([first, second], into) == 2
    assert {r.id for r in into} == {shared.id, one.id, two.id}
    assert merge([first, second], into) == 0
    assert len(into) == 3


def test_several_tables_are_read_as_one(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "it's b.parquet"]
    write_table([make_record()], paths[0])
    write_table([make_record("crash")], paths[1])
    assert query("SELECT outcome FROM records ORDER BY 1", paths).rows == (("correct",), ("crash",))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY records TO 'x.csv'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELEC",
        "",
    ],
)
def test_a_query_reads_records_and_nothing_else(tmp_path, sql):
    write_table([make_record()], tmp_path / "t.parquet")
    if sql:
        with pytest.raises(BadRecord, match="the query cannot be answered"):
            query(sql, tmp_path / "t.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(MissingFile, match=r"there is no table .*none\.parquet"):
        query("SELECT 1", tmp_path / "none.parquet")


def test_a_failure_leaves_the_old_table(tmp_path):
    path = tmp_path / "t.parquet"
    write_table([make_record()], path)

    def broken():
        yield make_record("crash")
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError):
        write_table(broken(), path)
    assert query("SELECT outcome FROM records", path).rows == (("correct",),)
    assert list(tmp_path.iterdir()) == [path]


@given(records())
@settings(max_examples=25, deadline=None)
def test_a_row_of_a_table_leads_back_to_its_record(made):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        write_table([made], path)
        (row,) = query("SELECT * FROM records", path).dicts()
    assert unflatten(row) == made == unflatten(flatten(made))


def test_ranks_read_the_latest_judgement_and_the_record_before_a_condemned_one_answers(tmp_path):
    store = Store(tmp_path / "records")
    store.extend([make_record("correct", f"2025-11-0{day}T00:00:00+00:00", id=f"r{day}") for day in (1, 2, 3)])
    assert query("SELECT id, judgement FROM counted", store).rows == (("r3", None),)
    store.ledger.judge("r3", "condemned", "it cached its answers")
    store.ledger.judge("r2", "suspected", "odd times")
    assert query("SELECT id, judgement, judgement_evidence FROM counted", store).rows == (("r2", "suspected", "odd times"),)
    for name in ("r2", "r1"):
        store.ledger.judge(name, "condemned", "the same text")
    assert query("SELECT id FROM counted", store).rows == ()
    assert query("SELECT id, judgement FROM latest", store).rows == (("r3", "condemned"),)
    store.ledger.judge("r3", "cleared", "the cache is in the reference too")
    assert query("SELECT id, judgement FROM counted", store).rows == (("r3", "cleared"),)


def test_a_long_answer_can_be_read_in_pieces(tmp_path):
    store = Store(tmp_path / "records")
    store.extend([make_record("crash", f"2025-11-01T00:00:00.{n:06d}+00:00", id=f"r{n}") for n in range(7)])
    with opened(store) as tables:
        pieces = [[row[0] for row in piece.rows] for piece in tables.stream("SELECT id FROM records ORDER BY id", size=3)]
    assert pieces == [["r0", "r1", "r2"], ["r3", "r4", "r5"], ["r6"]]


def test_a_large_store_becomes_a_table_in_several_processes_with_the_same_rows(tmp_path, monkeypatch):
    store = Store(tmp_path / "records")
    store.extend(
        [
            make_record(outcome, f"2025-0{1 + n % 9}-01T00:00:00.{n:06d}+00:00", id=f"r{n}")
            for n, outcome in enumerate(["correct", "crash"] * 9)
        ]
    )
    expected = query("SELECT * FROM records ORDER BY id", store).rows
    broken = next(store.folder.glob("*/*.jsonl"))
    broken.write_bytes(broken.read_bytes() + b'{"schema_version":1,"id":"x","subject":{"problem":"p"}}\n')
    monkeypatch.setattr("popcorn.records.tables.WORTH_BYTES", 0)
    again = Store(store.folder)
    assert query("SELECT * FROM records ORDER BY id", again).rows == expected
    assert [sentence for sentence in again.warnings if "not a record" in sentence or "breaks the schema" in sentence]


def test_a_store_that_cannot_be_written_can_be_asked(tmp_path, monkeypatch):
    store = Store(tmp_path / "records")
    store.append(make_record())
    real = tables._refreshed

    def refuse(store, path):
        if path.is_relative_to(tmp_path):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(store, path)

    monkeypatch.setattr(tables, "_refreshed", refuse)
    assert query("SELECT id FROM records", store).rows == ((make_record().id,),)
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize("name", ["out.csv", "relu.c"])
def test_a_file_that_is_no_parquet_is_named_without_words_of_the_database(tmp_path, name):
    (tmp_path / name).write_text("int main() {}")
    with pytest.raises(BadRecord, match=f"{name} is no table of records .it is no Parquet file.; give Parquet"):
        query("SELECT 1 FROM records", tmp_path / name)
