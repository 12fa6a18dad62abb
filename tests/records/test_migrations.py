"""Old lines are read for ever."""

import json
from pathlib import Path

import pytest

from popcorn.errors import BadRecord
from popcorn.records import migrations
from popcorn.records.migrations import MIGRATIONS, migrate, read_record
from popcorn.records.store import Store
from popcorn.schema.record import SCHEMA_VERSION
from tests.made_records import make_record

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_golden_lines_of_every_version_are_read(version, tmp_path):
    """`tests/golden/v<version>.jsonl` is written once, when the version is new, and never changed."""
    lines = (GOLDEN / f"v{version}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 3
    path = tmp_path / "d" / "a.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    store = Store(tmp_path)
    found = {record.id: record for record in store}
    assert not store.warnings
    assert sorted(found) == sorted(json.loads(line)["id"] for line in lines)
    assert {record.verdict.outcome for record in found.values()} >= {"correct", "cheated", "compile_error"}
    assert {record.schema_version for record in found.values()} == {SCHEMA_VERSION}
    timed = next(r for r in found.values() if r.measurement.timing)
    assert timed.measurement.timing.speedup.value == 3.14  # type: ignore[union-attr]


def test_there_is_one_migration_a_version():
    assert len(MIGRATIONS) == SCHEMA_VERSION - 1


def test_migrations_are_applied_in_order_from_the_version_of_the_line():
    def to_two(line):
        return {**line, "steps": ["two"]}

    def to_three(line):
        return {**line, "steps": [*line["steps"], "three"]}

    line = {"schema_version": 1}
    assert migrate(line, (to_two, to_three), newest=3) == {"schema_version": 3, "steps": ["two", "three"]}
    assert migrate({"schema_version": 2, "steps": []}, (to_two, to_three), newest=3)["steps"] == ["three"]
    assert line == {"schema_version": 1}


def test_a_store_reads_old_lines_through_the_migrations(tmp_path, monkeypatch):
    """A version that called the outcome `status` until it was renamed: the mechanism, with a version made up here."""

    def rename(line):
        return {**line, "verdict": {"outcome": line["verdict"]["status"]}}

    old = make_record("crash").model_dump(mode="json")
    old["verdict"] = {"status": "crash"}
    path = tmp_path / "d" / "a.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(old) + "\n")
    step = migrations.migrate
    monkeypatch.setattr(migrations, "migrate", lambda line: {**step(line, (rename,), newest=2), "schema_version": 1})
    (record,) = Store(tmp_path).find(kind="evaluation")
    assert record.verdict.outcome == "crash"


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0, True, [1]])
def test_a_line_without_a_usable_version_is_refused(version):
    with pytest.raises(BadRecord, match="schema_version"):
        migrate({"schema_version": version})


def test_a_line_of_the_future_asks_for_an_upgrade():
    with pytest.raises(
        BadRecord, match=rf"schema version {SCHEMA_VERSION + 1}; this Popcorn reads up to {SCHEMA_VERSION}: run pip install -U"
    ):
        migrate({"schema_version": SCHEMA_VERSION + 1})


def test_a_missing_migration_is_named():
    with pytest.raises(BadRecord, match="no migration leads from 2 to 3"):
        migrate({"schema_version": 1}, (dict,), newest=3)


def test_a_line_that_breaks_the_schema_names_the_field():
    line = make_record("crash").model_dump(mode="json")
    with pytest.raises(BadRecord, match=r"verdict\.outcome"):
        read_record({**line, "verdict": {"outcome": "superb"}})
    with pytest.raises(BadRecord, match="cannot hold a timing"):
        read_record({**make_record().model_dump(mode="json"), "verdict": {"outcome": "timeout"}})
