"""Screens that cost nothing: a text that cannot be a candidate, that breaks fair play by its tree, or that was seen before, meets no judge."""

from collections.abc import Sequence

from popcorn.reading import MAX_SOURCE_BYTES
from popcorn.search.normal import normal
from popcorn.search.program import Proposal
from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import check_contract, is_python
from popcorn.verify.static.check import check_text, refusals


def parses(proposal: Proposal, seen: Sequence[str]) -> str | None:
    """The contract of its language: it parses (Python), and defines what a candidate must."""
    source = proposal.source
    if len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        return f"it is longer than {MAX_SOURCE_BYTES:,} bytes"
    if any("\ud800" <= character <= "\udfff" or character == "\0" for character in source):
        return "it is not text"
    python = is_python("kernel", source)
    try:
        check_contract(source, "torch" if python else "c", python=python)
    except CompileFailed as failed:
        return str(failed)
    return None


def fair(proposal: Proposal, seen: Sequence[str]) -> str | None:
    """The static check's refusals; its advice is for prompts, never a reason to drop a text."""
    found = refusals(check_text(proposal.source, is_python("kernel", proposal.source)))
    return f"line {found[0].line}: {found[0].why}" if found else None


def fresh(proposal: Proposal, seen: Sequence[str]) -> str | None:
    """Not a program that was seen, whatever its comments and spacing; an edit that changes nothing is caught here, too."""
    return "it is a program that was seen before" if normal(proposal.source) in seen else None


SCREENS = (fresh, parses, fair)
"""In order of cost."""
