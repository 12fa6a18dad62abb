"""The static check as a gate: the few things that no kernel needs are refused before anything is built. Runs in the parent; free of torch."""

from typing import Any

from popcorn.verify.static import native, python
from popcorn.verify.static.check import refusals
from popcorn.verify.static.remark import Remark

_SOURCES = ("cpp_sources", "cuda_sources", "files")
"""Entries of a build request that hold texts."""


def refused(source: str, is_python: bool) -> str | None:
    """Why this text is refused; None where it is not. Only what its own syntax tree says counts: never a string, never a comment."""
    return _sentence(refusals(tuple(python.find(source) if is_python else native.find(source))))


def refused_build(request: dict[str, Any]) -> str | None:
    """The same of the C, C++ and CUDA texts that a candidate asks to have compiled."""
    texts = [text for name in _SOURCES for text in _texts(request.get(name))]
    return next((found for text in texts if (found := refused(text, False))), None)


def _texts(value: Any) -> list[str]:
    """Texts in an entry of a request, of which nothing is known yet."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, str)]


def _sentence(remarks: tuple[Remark, ...]) -> str | None:
    if not remarks:
        return None
    first = remarks[0]
    return f"the static check refuses line {first.line} ({first.what}): it {first.why}"
