"""The ledger: append-only, the latest judgement holds, evidence is needed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.errors import BadRecord
from popcorn.records.ledger import Ledger
from popcorn.records.store import Store
from tests.made_records import make_record


def test_the_latest_judgement_holds_and_the_history_stays(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.standing("a" * 16) is None and ledger.counts("a" * 16)
    ledger.judge("a" * 16, "suspected", "9 × faster than the floor")
    ledger.judge("a" * 16, "condemned", "it returns the last result")
    assert not Ledger(tmp_path).counts("a" * 16)
    ledger.judge("a" * 16, "cleared", "the floor was wrong")
    assert ledger.counts("a" * 16)
    assert [one.word for one in ledger.history("a" * 16)] == ["suspected", "condemned", "cleared"]


def test_a_judgement_without_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match="evidence"):
        Ledger(tmp_path).judge("a", "condemned", "  ")


def test_two_ledgers_become_one_by_concatenation(tmp_path: Path) -> None:
    first, second = Ledger(tmp_path / "1"), Ledger(tmp_path / "2")
    first.judge("x", "condemned", "early")
    second.judge("x", "cleared", "late")
    both = Ledger(tmp_path / "3")
    both.path.parent.mkdir()
    both.path.write_bytes(second.path.read_bytes() + first.path.read_bytes())
    standing = both.standing("x")
    assert standing is not None and standing.word == "cleared"


@given(st.binary(max_size=200))
def test_no_bytes_break_it(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger"))
    ledger.path.write_bytes(text)
    ledger.standings()


def test_a_condemned_record_is_left_out_until_it_is_cleared(tmp_path: Path) -> None:
    store = Store(tmp_path)
    record = make_record()
    store.append(record)
    assert len(store.find(condemned=False)) == 1
    store.ledger.judge(record.id, "condemned", "it returns the last result")
    assert store.find(condemned=False) == [] and len(store.find()) == 1
    store.ledger.judge(record.id, "cleared", "the check was wrong")
    assert len(store.find(condemned=False)) == 1
