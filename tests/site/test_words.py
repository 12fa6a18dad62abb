"""Data and words on pages: no markup from outside, nothing that is not JSON, ids that cannot meet."""

import json
import math
import re

from hypothesis import given
from hypothesis import strategies as st

from popcorn.schema.verdict import OUTCOMES
from popcorn.site import code, words
from popcorn.site.embedding import columnar, deliver, embed
from popcorn.site.words import file_name, long_time, money, number, place_of, ratio, time

ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


def same(a, b) -> bool:
    if isinstance(a, float) and not math.isfinite(a):
        return b is None
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@given(ANY)
def test_embedded_data_come_back_and_hold_no_markup(value):
    text = embed(value)
    assert same(value, json.loads(text))
    assert not re.search("[<>&\u2028\u2029]", text)


@given(st.text())
def test_a_delivered_name_cannot_leave_its_string(name):
    assert "<" not in deliver(name, "</script>") and deliver(name, 1).startswith("popcorn.deliver(")


@given(
    st.lists(
        st.fixed_dictionaries(
            {"a": st.one_of(st.none(), st.sampled_from(["x", "y"])), "b": st.one_of(st.none(), st.floats(1e-9, 1e9), st.integers(0, 9))}
        ),
        max_size=40,
    )
)
def test_columns_lead_back_to_rows(rows):
    made = columnar(rows, ("a", "b"))

    def get(name, i):
        column = made[name]
        return column[i] if isinstance(column, list) else None if column["at"][i] is None else column["of"][column["at"][i]]

    for i, row in enumerate(rows):
        assert get("a", i) == row["a"]
        assert (get("b", i) is None) == (row["b"] is None)
        assert row["b"] is None or math.isclose(get("b", i), row["b"], rel_tol=1e-5)


@given(st.lists(st.text(max_size=20), unique=True, max_size=20))
def test_different_ids_have_different_files_that_stay_in_their_folder(ids):
    names = [file_name(one) for one in ids]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*", name) for name in names)


def test_every_outcome_has_words_a_colour_and_a_sign():
    assert set(words.OUTCOMES) == set(OUTCOMES)
    assert len({words.outcome_word(one) for one in OUTCOMES}) == len(OUTCOMES)
    assert all(words.outcome_mark(one) and words.outcome_group(one) for one in (*OUTCOMES, None, "of tomorrow"))
    assert words.outcome_word(None) == "nothing submitted" and words.outcome_word("of tomorrow") == "of tomorrow"


def test_words_for_quantities():
    assert (time(9.6e-6), time(1e-9), ratio(1e6), time(float("nan")), ratio(None)) == ("9.60 µs", "1.00 ns", "1,000,000×", "—", "—")
    assert (long_time(845.5), long_time(7321), long_time(3.2), long_time(None)) == ("14 min 06 s", "2 h 02 min", "3.20 s", "—")
    assert (money(0.042), money(12.3), money(0), number(float("inf")), number(3)) == ("$0.042", "$12.30", "$0.00", "—", "3")
    assert (place_of("popcorn/L2/47"), place_of("/a/b.py")) == (("popcorn", 2), ("other", 0))


def test_a_name_hides_nothing_and_is_cut():
    assert words.name("a\u202eb\x1b[31m\n c") == "a\\u202eb\\u001b[31m c" and words.name(None) == ""
    assert len(words.name("x" * 10_000)) == 160


def test_source_is_highlighted_line_by_line_and_hides_nothing():
    lines = code.lines_of('x = """a\nb"""  # \u202e</script>\n', "python")
    assert len(lines) == 2 and "&lt;/script&gt;" in lines[1] and "\\u202e" in lines[1]
    assert code.difference("a\nb\n", "a\nc\n")[-2:] == [("-", "b"), ("+", "c")]
    assert ":root.dark .code" in code.style()


def test_a_long_sentence_is_cut_between_words_and_an_endless_word_anywhere():
    assert words.clipped("4,194,304 of 4,194,304 elements are wrong", 20) == "4,194,304 of…"
    assert words.clipped("short") == "short" and words.clipped("x" * 50, 20) == "x" * 19 + "…"
    assert all(len(words.clipped("ab, " * 100, most)) <= most for most in range(10, 60))
