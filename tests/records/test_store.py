"""The store: nothing complete is ever lost, nothing torn is ever silent."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popcorn.errors import BadRecord, UnwritableStore
from popcorn.records.migrations import read_record
from popcorn.records.store import Store, default_store
from popcorn.schema.machine import Machine
from popcorn.schema.record import Record
from tests.made_records import make_record, records

ROOT = Path(__file__).resolve().parents[2]


def only_file(store: Store) -> Path:
    (path,) = store.folder.glob("*/*.jsonl")
    return path


def test_an_appended_record_is_read_back_equal_by_this_store_and_a_new_one(tmp_path):
    record = make_record()
    store = Store(tmp_path)
    store.append(record)
    assert store.find() == [record]
    assert Store(tmp_path).get(record.id) == record
    assert list(Store(tmp_path)) == [record]
    assert not store.warnings


def test_a_record_lies_under_its_device_in_a_file_of_its_host_and_month(tmp_path):
    Store(tmp_path).append(make_record())
    assert only_file(Store(tmp_path)).relative_to(tmp_path).as_posix() == "nvidia-h200-sxm/2025-11-ab12.jsonl"


@pytest.mark.parametrize("name", ["../../escape", "/etc", "..", ".hidden", "a/b", "", "x" * 300, "nul\0"])
def test_a_hostile_device_name_stays_inside_the_folder(tmp_path, name):
    store = Store(tmp_path / "records")
    record = make_record(machine=Machine(device_id=name, device_name="x", kind="cpu", host=name))
    store.append(record)
    assert store.find() == [record]
    assert [p for p in tmp_path.rglob("*.jsonl")] == [only_file(store)]


def test_find_filters_and_gives_the_newest_first(tmp_path):
    store = Store(tmp_path)
    made = [make_record(made=f"2025-11-{day:02d}T00:00:00+00:00") for day in (3, 1, 2)]
    baseline = make_record(made="2025-11-04T00:00:00+00:00", kind="baseline")
    store.extend([*made, baseline])
    assert [r.provenance.made[8:10] for r in store.find(kind="evaluation")] == ["03", "02", "01"]
    assert store.find(kind="baseline") == [baseline]
    assert store.find(problem="popcorn/L1/1") == []
    assert len(store.find(problem="original/L1/36", candidate_hash=baseline.subject.candidate_hash)) == 4


@given(st.lists(records(), max_size=12))
@settings(max_examples=30, deadline=None)
def test_find_agrees_with_a_plain_search_for_any_records(made):
    unique = {record.id: record for record in made}
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for record in unique.values():
            store.append(record)
        assert {r.id: r for r in store} == unique
        for problem in {r.subject.problem for r in made} | {"none"}:
            for kind in ("evaluation", "baseline", None):
                for candidate in ("a" * 16, None):
                    expected = [
                        r for r in unique.values()
                        if r.subject.problem == problem and kind in (None, r.kind) and candidate in (None, r.subject.candidate_hash)
                    ]  # fmt: skip
                    found = store.find(problem=problem, kind=kind, candidate_hash=candidate)
                    assert {r.id for r in found} == {r.id for r in expected}
                    assert [r.provenance.made for r in found] == sorted((r.provenance.made for r in expected), reverse=True)
        assert not store.warnings


def test_a_prefix_finds_a_record_and_an_ambiguous_one_names_the_choices(tmp_path):
    store = Store(tmp_path)
    store.extend([make_record(id=name * 4) for name in ("abcd", "abce", "ffff")])
    assert store.get("ff").id == "ffff" * 4
    assert store.get(" ABCD").id == "abcd" * 4
    with pytest.raises(BadRecord, match=r"2 records begin with 'abc': abcdabcdabcdabcd, abceabceabceabce; give more digits"):
        store.get("abc")


def test_an_unknown_id_is_answered_with_the_nearest_or_the_last_or_how_to_make_one(tmp_path):
    with pytest.raises(BadRecord, match="popcorn eval PROBLEM FILE"):
        Store(tmp_path).get("1234")
    store = Store(tmp_path)
    store.append(make_record(id="0123456789abcdef"))
    with pytest.raises(BadRecord, match="nearest: 0123456789abcdef"):
        store.get("0123456789abcdee")
    with pytest.raises(BadRecord, match=r"the last written: 0123456789abcdef \(original/L1/36\)"):
        store.get("")


def test_a_file_truncated_at_any_byte_of_its_last_line_loses_that_line_alone_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("popcorn.records.appending.os.fsync", lambda _: None)  # thousands of files
    first, last = (make_record("timeout", made=f"2025-11-0{day}T00:00:00+00:00") for day in (1, 2))
    store = Store(tmp_path / "whole")
    store.extend([first, last])
    whole = only_file(store).read_bytes()
    start = whole.index(b"\n") + 1
    for length in range(start + 1, len(whole)):
        folder = tmp_path / "cut" / str(length)
        path = folder / "d" / "a.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(whole[:length])
        store = Store(folder)
        found = store.find()
        torn = path.with_name("a.jsonl.torn")
        if length == len(whole) - 1:  # only the newline is missing
            assert {r.id for r in found} == {first.id, last.id} and not torn.exists()
        else:
            assert found == [first]
            assert torn.read_bytes() == whole[start:length] + b"\n"
        assert len(store.warnings) == 1 and str(path) in store.warnings[0]
        assert path.read_bytes().endswith(b"\n")


def test_a_writer_mends_what_the_last_one_left_before_it_appends(tmp_path):
    store = Store(tmp_path)
    first, second = make_record(), make_record("crash")
    store.append(first)
    with only_file(store).open("ab") as file:
        file.write(b'{"schema_version":1,"kind":"eval')
    fresh = Store(tmp_path)
    fresh.append(second)
    assert "was torn (32 bytes" in fresh.warnings[0]
    assert {r.id for r in fresh.find()} == {first.id, second.id}
    # the store that had read the file before sees the same
    assert {r.id for r in store.find()} == {first.id, second.id}


@pytest.mark.parametrize(
    "bad",
    [
        b"not json",
        b"[1,2]",
        b'{"schema_version":1}',
        b"\0\0\0\0",
        b"\xff\xfe",
        b'{"a":' * 50_000,
        b'{"schema_version":1,"kind":3}',
        b"null",
    ],
)
def test_a_bad_line_in_the_middle_is_told_with_its_place_and_the_rest_is_read(tmp_path, bad):
    store = Store(tmp_path)
    first, last = make_record(), make_record("crash")
    store.append(first)
    path = only_file(store)
    with path.open("ab") as file:
        file.write(bad + b"\n")
    store.append(last)
    fresh = Store(tmp_path)
    assert {r.id for r in fresh.find()} == {first.id, last.id}
    assert len(fresh.warnings) == 1 and fresh.warnings[0].startswith(f"{path}:2: ")
    assert bad in path.read_bytes()
    fresh.find()
    assert len(fresh.warnings) == 1


def test_a_line_whose_tail_is_damaged_is_told_when_it_is_asked_for(tmp_path):
    store = Store(tmp_path)
    store.append(make_record())
    path = only_file(store)
    path.write_bytes(path.read_bytes().replace(b'"made":"2025', b'"made":2025'))
    fresh = Store(tmp_path)
    assert fresh.find() == []
    assert f"{path}:1: " in fresh.warnings[0]
    with pytest.raises(BadRecord, match=r"\.jsonl:1: "):
        fresh.get(make_record().id)


def test_a_line_of_a_newer_version_asks_for_an_upgrade_and_hides_no_other(tmp_path):
    store = Store(tmp_path)
    store.append(make_record())
    path = only_file(store)
    newer = {**make_record("crash", id="f" * 16).model_dump(mode="json"), "schema_version": 99}
    with path.open("a") as file:
        file.write(json.dumps(newer) + "\n")
    fresh = Store(tmp_path)
    assert len(fresh.find()) == 1
    assert "schema version 99" in fresh.warnings[0]
    with pytest.raises(BadRecord, match="pip install -U popcornbench"):
        fresh.get("ffff")


def test_a_store_that_cannot_be_written_keeps_the_record_elsewhere_and_says_where(tmp_path, monkeypatch):
    (tmp_path / "records").write_text("a file stands where the folder should be")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    record = make_record()
    with pytest.raises(UnwritableStore, match="the record was kept in") as caught:
        Store(tmp_path / "records").append(record)
    (kept,) = tmp_path.glob("popcorn-record-*.jsonl")
    assert str(kept) in str(caught.value)
    assert Record.model_validate_json(kept.read_text()) == record
    with pytest.raises(UnwritableStore, match="set POPCORN_CACHE_DIR"):
        Store(tmp_path / "records").check_writable()


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append(make_record())
    before = only_file(store).read_bytes()
    write = os.write

    def full(fd, data):
        if stat.S_ISREG(os.fstat(fd).st_mode) and len(data) > 100:
            write(fd, bytes(data[:100]))
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr("popcorn.records.appending.os.write", full)
    with pytest.raises(UnwritableStore, match="No space left on device"):
        store.append(make_record("crash"))
    monkeypatch.undo()
    assert only_file(store).read_bytes() == before


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from popcorn.records.store import Store
    from tests.made_records import make_record
    store, name, count = Store(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    for number in range(count):
        record = make_record(id=f"{name}{number:012d}", build={"reason": "x" * 20_000})
        store.append(record)
        print(record.id, flush=True)
    """
)


def start_writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count)], stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT
    )


def test_writers_in_several_processes_never_mix_their_lines(tmp_path):
    writers = [start_writer(tmp_path, name, 40) for name in ("aaaa", "bbbb", "cccc")]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    store = Store(tmp_path)
    assert sorted(r.id for r in store) == sorted(f"{name}{i:012d}" for name in ("aaaa", "bbbb", "cccc") for i in range(40))
    assert not store.warnings


def test_a_killed_writer_loses_no_record_that_append_returned_for(tmp_path):
    chance = random.Random(29)
    for attempt in range(6):
        folder = tmp_path / str(attempt)
        writer = start_writer(folder, "dead", 100_000)
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip()]
        time.sleep(chance.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        told += [line.strip() for line in writer.stdout.read().split("\n") if len(line.strip()) == 16]
        writer.wait()
        store = Store(folder)
        kept = [r.id for r in store]
        assert set(told) <= set(kept)
        assert len(kept) - len(told) <= 1  # the last may be on disk before it was told
        after = make_record(id="f" * 16)
        store.append(after)
        assert Store(folder).get("ffff") == after


@given(cuts=st.lists(st.integers(1, 2000), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_series_of_writers_torn_at_any_byte_loses_only_what_was_torn(cuts):
    line = make_record().model_dump_json().encode()
    with tempfile.TemporaryDirectory() as folder:
        expected = []
        for number, cut in enumerate(cuts):
            record = make_record(id=f"{number:016d}")
            Store(Path(folder)).append(record)
            expected.append(record.id)
            with only_file(Store(Path(folder))).open("ab") as file:  # the next writer dies in the middle of a write
                file.write(line[: min(cut, len(line) - 1)])
        assert sorted(r.id for r in Store(Path(folder))) == sorted(expected)


def test_threads_share_a_store(tmp_path):
    store = Store(tmp_path)

    def work(name: str) -> None:
        for number in range(10):
            store.append(make_record(id=f"{name}{number:012d}"))
            assert store.find(kind="evaluation")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("aaaa", "bbbb", "cccc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({r.id for r in store}) == len(store) == 30


def test_a_read_only_store_is_read_and_its_torn_line_told(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append(make_record())
    with only_file(store).open("ab") as file:
        file.write(b'{"torn')

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("popcorn.records.appending.locked", refuse)
    fresh = Store(tmp_path)
    assert len(fresh.find()) == 1
    assert "cannot be repaired here (Permission denied)" in fresh.warnings[0]


def test_a_large_store_is_searched_without_validating_every_line(tmp_path, monkeypatch):
    line = make_record().model_dump_json()
    padded = line.replace('"class Model: ...', '"' + "x" * 30_000)
    path = tmp_path / "d" / "a.jsonl"
    path.parent.mkdir()
    others = [padded.replace("original/L1/36", "popcorn/L1/29").replace(make_record().id, f"{i:016d}") for i in range(2000)]
    path.write_text("\n".join([*others, line]) + "\n")
    store = Store(tmp_path)
    parsed = []
    monkeypatch.setattr("popcorn.records.store.read_record", lambda text: parsed.append(text) or read_record(text))
    for _ in range(2):
        assert len(store.find(problem="original/L1/36")) == 1
    assert len(parsed) == 2, "of 2,001 lines the one that was asked for"


def test_the_default_store_is_under_popcorn_cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    assert default_store().folder == tmp_path / "records"


def test_records_import_neither_torch_nor_duckdb():
    code = "import sys, popcorn.records.store, popcorn.records.tables; assert not {'torch', 'duckdb', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
