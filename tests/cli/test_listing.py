"""A long table as plain lines: it fits, nothing of it is lost, words stay whole where they can."""

from hypothesis import given
from hypothesis import strategies as st

from popcorn.cli.listing import lay_out

words = st.text("abcdef_=–0123456789", min_size=1, max_size=14)
cells = st.lists(words, max_size=6).map(" ".join)


@given(st.lists(st.tuples(words, cells, words, cells), max_size=12), st.integers(70, 120))
def test_whatever_the_cells_hold_lines_fit_and_every_letter_is_there(rows, width):
    lines = list(lay_out(("id", "name", "domain", "sizes"), rows, width, (1, 3)))
    assert max(map(len, lines)) <= width
    shown = sorted("".join(lines).replace(" ", ""))
    assert shown == sorted("".join("".join(row) for row in [("id", "name", "domain", "sizes"), *rows]).replace(" ", ""))


def test_words_stay_whole_where_another_column_can_give_way():
    lines = list(lay_out(("id", "name", "sizes"), [("a", "many words of a name", "E=7088373–9437184")], 30, (1, 2)))
    assert any("E=7088373–9437184" in line for line in lines)


def test_a_table_of_no_rows_is_its_headings():
    assert list(lay_out(("id", "name"), [], 80, (1,))) == ["id  name"]


def test_a_column_that_cannot_give_way_keeps_no_other_from_folding_and_no_line_ends_in_blanks():
    lines = list(lay_out(("file", "state", "why, or what was done"), [("a" * 60, "runs", ""), ("b", "cannot run", "c " * 30)], 80, (0, 2)))
    assert max(map(len, lines)) <= 80 and all(line == line.rstrip() for line in lines)


def test_a_name_without_spaces_folds_after_its_slash():
    lines = list(lay_out(("model", "tier"), [("scripted/steady", "default")], 18, (0,)))
    assert lines[1:] == ["scripted/  default", "steady"]


def test_headings_of_several_words_give_way_before_any_cell_does():
    rows = [("original L1", "dead429", "1 of 1", "0", "1.05×"), ("other L1", "e500", "0 of 2", "12", "—")]
    wide, narrow = (
        list(lay_out(("problems", "model", "timed", "no result", "mean (all)"), rows, width, (0, 1), (2, 3, 4))) for width in (80, 46)
    )
    assert len(wide) == 3 and wide[0].endswith("no result  mean (all)")
    assert max(map(len, narrow)) <= 46 and "dead429" in narrow[2] and "original L1" in narrow[2]
    assert [line.split() for line in narrow[:2]] == [["problems", "model", "timed", "no", "mean"], ["result", "(all)"]]
