"""Text of candidates, models and compilers made safe to show: what could move the cursor, colour, hide or reorder text is written out."""

import unicodedata

_REORDERING = {"R", "AL", "AN", "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Bidirectional classes that let a character change the place of others, right-to-left letters among them."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me", "Mc"}
"""Controls, format characters, surrogates, private and unassigned ones, line breaks, loose combining marks."""


def plain(text: object, limit: int = 300) -> str:
    r"""One line of visible characters: newlines and runs of blanks become a space, the rest of the hidden ones `\x1b`, `\u202e`, …

    Longer texts are cut to `limit` characters with an ellipsis.
    """
    # cut before the work is done: a hostile text may have megabytes
    words = " ".join(str(text)[: 4 * limit].split())
    shown = "".join(_visible(character) for character in unicodedata.normalize("NFC", words))
    return shown if len(shown) <= limit and len(str(text)) <= 4 * limit else shown[: limit - 1] + "…"


def _visible(character: str) -> str:
    if " " <= character <= "~":
        return character
    hidden = unicodedata.category(character) in _HIDDEN or unicodedata.bidirectional(character) in _REORDERING
    return _written_out(ord(character)) if hidden else character


def _written_out(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
