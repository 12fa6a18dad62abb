"""A long table as plain lines: what rich lays out in a quarter of a second for 400 rows takes some milliseconds here."""

import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

GAP = "  "


class _Wrapper(textwrap.TextWrapper):
    """Lines may end after a slash, too: names of models and problems have no spaces."""

    def _split(self, text: str) -> list[str]:
        return [part for chunk in super()._split(text) for part in re.split(r"(?<=/)(?=.)", chunk)]


def width_here(least: int = 60, most: int = 100) -> int:
    """Columns of the terminal, 80 where there is none, within these bounds: narrower, a table has columns of single letters, and better it wraps."""
    return max(least, min(shutil.get_terminal_size().columns, most))


def lay_out(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, folding: Collection[int], right: Collection[int] = ()
) -> Iterator[str]:
    """The lines of a table, at most `width` wide where headings of several words and the columns of `folding` can give way: headings first, then between
    words and after a slash, then anywhere."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    cells = [max(map(len, (*heading.split(), *column))) for heading, *column in zip(headings, *rows, strict=True)]
    while sum(widths) + len(GAP) * (len(widths) - 1) > width and (
        wide := [index for index in range(len(widths)) if widths[index] > cells[index]]
    ):
        widths[max(wide, key=lambda index: widths[index] - cells[index])] -= 1
    words = {index: max(len(word) for row in (headings, *rows) for word in _Wrapper()._split(row[index]) or [""]) for index in folding}
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        giving = [index for index in folding if widths[index] > len(headings[index])]
        if not giving:
            break
        whole = [index for index in giving if widths[index] > words[index]]
        widths[max(whole or giving, key=lambda index: widths[index])] -= 1
    first, *others = (headings, *rows)
    yield from (f"\x1b[1m{line}\x1b[0m" if sys.stdout.isatty() else line for line in _row(first, widths, right))
    for row in others:
        yield from _row(row, widths, right)


def _row(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> Iterator[str]:
    folded = ([cell] if len(cell) <= width else _Wrapper(width).wrap(cell) for cell, width in zip(cells, widths, strict=True))
    for line in zip_longest(*folded, fillvalue=""):
        parts = zip(line, widths, strict=True)
        yield GAP.join(part.rjust(width) if index in right else part.ljust(width) for index, (part, width) in enumerate(parts)).rstrip()
