"""Hostile text: whatever comes in, one line of visible characters comes out."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.cli.plain import plain


@given(st.text(), st.integers(1, 200))
def test_any_text_becomes_one_visible_line_of_bounded_length(text, limit):
    shown = plain(text, limit)
    for character in shown:
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in {"R", "AL", "RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "FSI"}
    assert len(shown) <= limit


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=100))
def test_plain_ascii_stays_as_it_is(text):
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("[bold red]markup[/]", "[bold red]markup[/]"),
        ("one\ntwo\r\n\tthree", "one two three"),
        ("evil\u202egnp.exe", r"evil\u202egnp.exe"),
        ("שלום", r"\u05e9\u05dc\u05d5\u05dd"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("a\u0301\u0301", "á\\u0301"),
        ("3 µs — 4 × 5", "3 µs — 4 × 5"),
        ("核", "核"),
        ("x" * 400, "x" * 299 + "…"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_could_move_colour_hide_or_reorder_is_written_out(text, shown):
    assert plain(text) == shown


def test_a_text_of_many_megabytes_costs_nothing():
    assert plain("\x1b" * 50_000_000, 10) == r"\x1b\x1b\x…"[:10] or len(plain("\x1b" * 50_000_000, 10)) == 10
