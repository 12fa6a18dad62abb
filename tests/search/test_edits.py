"""Edits and the block that may change: exact, unique, inside, in every language's comments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.search.edits import EditRefused, apply_edits, check_block, find_edits, split

EDIT = "I would do this:\n<<<<<<< SEARCH\n  a = 1;\n=======\n  a = 2;\n>>>>>>> REPLACE\nand that is all."


@pytest.mark.parametrize("comment", ["//", "#", "--", ";", "/*", "<!--", "%"])
@pytest.mark.parametrize("start, end", [("[EVOLVE_START]", "[EVOLVE_END]"), ("EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END")])
def test_nothing_outside_the_block_changes_whatever_the_comment_looks_like(comment, start, end):
    """OE 106, 422: the mark is more than a hint, and more languages than Python have comments."""
    source = f"int head;\n{comment} {start}\n  a = 1;\n{comment} {end}\nint tail;\n"
    assert apply_edits(source, find_edits(EDIT)) == source.replace("a = 1", "a = 2")
    with pytest.raises(EditRefused, match="EVOLVE"):
        apply_edits(source, [("int tail;", "int other;")])
    for changed in (source.replace("head", "top"), source.replace(end, "gone"), "\n".join(source.splitlines()[2:]), "  a = 2;\n"):
        with pytest.raises(EditRefused):
            check_block(source, changed)


@pytest.mark.parametrize(
    "edits, why",
    [
        ([], "no SEARCH"), ([("", "x")], "empty"), ([("  \n", "x")], "empty"), ([("b", "c")], "stands 0 times"), ([("a", "c")], "stands 2 times"),
        ([("x = 1", "x = 1")], "change nothing"),
    ],
)  # fmt: skip
def test_an_edit_that_is_empty_ambiguous_absent_or_changes_nothing_is_refused(edits, why):
    with pytest.raises(EditRefused, match=why):
        apply_edits("a\na\nx = 1\n", edits)


def test_edits_are_made_all_or_none():
    with pytest.raises(EditRefused):
        apply_edits("one\ntwo\n", [("one", "1"), ("three", "3")])
    assert apply_edits("one\ntwo\n", [("one\n", "1\n"), ("two\n", "2\n")]) == "1\n2\n"


@given(st.text(max_size=300))
def test_any_answer_can_be_read(text):
    find_edits(text)
    split(text)


def test_edits_with_line_ends_of_windows_are_made_and_drafts_among_thoughts_are_not():
    draft, said = ("<<<<<<< SEARCH\nb\n=======\n" + new + "\n>>>>>>> REPLACE\n" for new in ("draft", "c"))
    answer = f"<think>\n{draft}</think>\nso:\n{said}".replace("\n", "\r\n")
    assert find_edits(answer) == [("b\n", "c\n")]
    assert apply_edits("a\r\nb\r\n", find_edits(answer)) == "a\nc\n"
    assert find_edits(f"<think>\n{draft}</think> that is it") == [("b\n", "draft\n")]
