"""Edits of a text as models write them: SEARCH/REPLACE blocks, each exact and unique, and none outside the block that may change.

    <<<<<<< SEARCH
    what stands there, exactly once
    =======
    what shall stand there
    >>>>>>> REPLACE

The block that may change stands between two comment lines in any language's form (`//`, `#`, `--`, `;`, `/* */`, `<!-- -->`):
`[EVOLVE_START]` and `[EVOLVE_END]`, or `EVOLVE-BLOCK-START` and `EVOLVE-BLOCK-END`. Without them all of the text may change.
"""

import re

from popcorn.agents.extracting import parts_of

_EDIT = re.compile(r"^<{5,9} ?SEARCH[^\n]*\n(.*?)^={5,9}[ \t]*\n(.*?)^>{5,9} ?REPLACE[^\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = r"^[ \t]*(?://|#|--|;|/\*|<!--|%)[ \t]*"
_START = re.compile(_COMMENT + r"(?:\[EVOLVE_START\]|EVOLVE-BLOCK-START)[^\n]*\n?", re.MULTILINE)
_END = re.compile(_COMMENT + r"(?:\[EVOLVE_END\]|EVOLVE-BLOCK-END)", re.MULTILINE)


class EditRefused(ValueError):
    """An edit that cannot be made; the sentence is for the model."""


def find_edits(text: str) -> list[tuple[str, str]]:
    """(search, replace) of every block in an answer; of those among a model's thoughts only where it says no other."""
    return next((found for part in parts_of(text) if (found := [(match[1], match[2]) for match in _EDIT.finditer(part)])), [])


def apply_edits(source: str, edits: list[tuple[str, str]]) -> str:
    """The text with all edits made, in order. Raises EditRefused; then nothing is made."""
    if not edits:
        raise EditRefused("there is no SEARCH/REPLACE block in the answer")
    original = source = source.replace("\r\n", "\n")  # as the blocks are read
    for number, (search, replace) in enumerate(edits, 1):
        if not search.strip():
            raise EditRefused(f"edit {number}: SEARCH is empty; give the lines to replace")
        found = source.count(search)
        if found != 1:
            raise EditRefused(f"edit {number}: SEARCH stands {found} times in the text; it must stand there exactly once")
        source = source.replace(search, replace)
    if source == original:
        raise EditRefused("the edits change nothing")
    check_block(original, source)
    return source


def check_block(before: str, after: str) -> None:
    """Raises EditRefused where anything outside the block that may change is not as it was."""
    parts = split(before)
    if parts is None:
        return
    head, _, tail = parts
    if not (after.startswith(head) and after.endswith(tail) and len(after) >= len(head) + len(tail)):
        raise EditRefused("only the text between the EVOLVE marks may change; the marks and what stands outside them must stay as they are")
    if split(after) is None or split(after)[::2] != (head, tail):  # type: ignore[index]
        raise EditRefused("the EVOLVE marks must stay, each once")


def split(source: str) -> tuple[str, str, str] | None:
    """(before and with the first mark, block, from the last mark on); None without marks."""
    start, end = _START.search(source), next(reversed(list(_END.finditer(source))), None)
    if start is None or end is None or end.start() < start.end():
        return None
    return source[: start.end()], source[start.end() : end.start()], source[end.start() :]
