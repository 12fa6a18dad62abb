"""A kernel out of a model's text: the last fenced block that could be one. Reads text only."""

import re
import textwrap
from itertools import chain, islice

from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import check_contract

MAX_TEXT = 1_000_000
_FENCE = re.compile(r"(```+|~~~+)([^\n`]*)$", re.MULTILINE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|thoughts|reasoning|scratchpad)>|<\|channel\|>final[^\n]{0,40}?<\|message\|>")
_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]>|</s>")
"""A mark of a model's own, `<|im_end|>`, that its server let through."""
_INVISIBLE = {0x00A0: " ", 0x200B: None, 0xFEFF: None, 0x2028: "\n", 0: None}
"""Characters that stand in code by accident, and what a reader takes them for."""
_CODE = re.compile(r"(?:^|(?<=>))(?:import |from [\w.]+ import |#include|class ModelNew\b)", re.MULTILINE)
_TAG = re.compile(r"^\s*(?:</\w+>|\[/\w+\])", re.MULTILINE)
_LINE_END = re.compile(r"\r\n?")
_MOST_FENCES, _MOST_CLOSINGS, _MOST_BLOCKS = 400, 8, 100
_MOST_READ = 8_000_000
"""Characters of all blocks that are tried, together."""


def find_kernel(text: str, language: str) -> str | None:
    """The last fenced block that keeps the language's contract, else the whole text where it does, or what of it begins as code does, up to a closing
    tag (`</answer>`), else the longest block.

    What stands after a model's thoughts (`</think>`) goes before its drafts among them. None when there is nothing that could be a kernel. A
    block that was cut off at the end of the text counts: its verdict will say so.
    """
    text = text[:MAX_TEXT]
    left = _MOST_READ
    for part in parts_of(text):
        whole = [part, _code_of(part)] if "```" not in part else []
        for block in (*whole, *islice(chain(*_blocks(part)), _MOST_BLOCKS), part):
            left -= len(block)
            if left > 0 and block.strip() and _keeps(block, language):
                return block.strip("\n") + "\n"
    return max((block.strip("\n") + "\n" for block, *_ in _blocks(parts_of(text)[-1]) if block.strip()), key=len, default=None)


def parts_of(text: str) -> list[str]:
    """What a model says after its thoughts, then all that it says, where that is more. Lines end in `\\n`; marks that are no part of what it says are
    left out."""
    text = _LINE_END.sub("\n", text).translate(_INVISIBLE)
    return list(dict.fromkeys(_TOKEN.sub("\n", part) for part in (_THOUGHT.split(text)[-1], text)))


def _code_of(text: str) -> str:
    """From the first line that begins code to the next closing tag: code that stands between tags, or behind a sentence."""
    begins = _CODE.search(text)
    return _TAG.split(text[begins.start() :])[0] if begins else ""


def _blocks(text: str) -> list[list[str]]:
    """What an opening fence begins, the last one first: up to the nearest fence that closes it, then up to later ones, since a kernel may hold fences, too."""
    fences = list(_FENCE.finditer(text))[-_MOST_FENCES:]
    found, place = [], 0
    while place < len(fences):
        opening = fences[place]
        closings = [i for i in range(place + 1, len(fences)) if fences[i][1].startswith(opening[1]) and not fences[i][2].strip()]
        ends = [fences[i].start() for i in closings[:_MOST_CLOSINGS]] or [len(text)]
        found.append([textwrap.dedent(text[opening.end() + 1 : end]) for end in ends])
        place = closings[0] + 1 if closings else len(fences)
    return found[::-1]


def _keeps(text: str, language: str) -> bool:
    try:
        check_contract(text, language)
    except CompileFailed:
        return False
    return True
