"""A journal keeps what was answered; what a provider broke off goes on."""

from popcorn.agents.journal import Journal
from popcorn.agents.spoken import _sound


def test_a_run_that_its_provider_broke_off_is_not_over(tmp_path):
    journal = Journal(tmp_path)
    journal.add("said", index=1)
    journal.add("submit", answer={})
    journal.add("end", run={"ended_by": "error"})
    again = Journal(tmp_path)
    assert [line["kind"] for line in again.lines] == ["said"] and again.finished() is None


def test_half_characters_are_replaced_however_deep_they_lie():
    found = _sound({"a\ud800": ["x\udfff", {"b": "ok", "n": 3}]})
    assert found == {"a?": ["x?", {"b": "ok", "n": 3}]}
