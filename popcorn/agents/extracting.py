"""A kernel out of a model's text: the last fenced block that could be one. Reads text only."""

import re

from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import check_contract

MAX_TEXT = 1_000_000
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def find_kernel(text: str, language: str) -> str | None:
    """The last fenced block that keeps the language's contract, else the longest block, else the whole text where it keeps the contract.

    None when there is nothing that could be a kernel. A block that was cut off at the end of the text counts: its verdict will say so.
    """
    text = text[:MAX_TEXT]
    blocks = [match[2].strip("\n") + "\n" for match in _FENCE.finditer(text) if match[2].strip()]
    for block in reversed(blocks):
        if _keeps(block, language):
            return block
    if blocks:
        return max(blocks, key=len)
    return text.strip() + "\n" if text.strip() and _keeps(text, language) else None


def _keeps(text: str, language: str) -> bool:
    try:
        check_contract(text, language)
    except CompileFailed:
        return False
    return True
