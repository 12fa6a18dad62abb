"""Compiler output and tracebacks → a short tuple of `Diagnostic`. Never raises: the text is hostile."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Literal

from popcorn.schema.verdict import Diagnostic

MAX_ITEMS = 50
MAX_MESSAGE = 500
MAX_TEXT = 1_000_000

Severity = Literal["error", "warning", "note"]

_GNU = re.compile(
    r"^(?P<file>[^\s:()][^:\n]{0,300}):(?P<line>\d{1,9})(?::\d{1,9})?:"
    r"\s*(?P<severity>[Ff]atal error|[Ee]rror|[Ww]arning|note|sorry, unimplemented):\s*(?P<message>.*)$"
)
"""The assembler, which sees what a kernel writes as `asm`, begins with a capital."""
_NVCC = re.compile(
    r"^(?P<file>[^\s()][^()\n]{0,300})\((?P<line>\d{1,9})(?:,\d{1,9})?\):"
    r"\s*(?P<severity>(?:catastrophic )?error|warning|remark)\s*(?:#[\w-]+)?\s*:\s*(?P<message>.*)$"
)
_PTXAS = re.compile(
    r"^ptxas\s+(?P<file>[^,\n]{0,300}?)(?:,\s*line\s+(?P<line>\d{1,9})\s*;\s*|\s*)(?P<severity>error|fatal|warning|info)\s*:\s*(?P<message>.*)$"
)
_TOOL = re.compile(
    r"^(?P<file>nvcc|cc1plus|cc1|gcc|g\+\+|clang|collect2|nvlink|fatbinary|[^\s:]{0,300}\bld)\s*:?\s+(?P<severity>fatal\s*:?|error\s*:?|warning\s*:?)\s*(?P<message>.*)$"
)
_LINKER = re.compile(
    r"^(?:\S{0,300}:\s*)?(?:\([^)]{0,100}\):\s*)?(?P<message>(?:undefined reference to|multiple definition of|cannot find) .*)$"
)
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]{1,300})", line (?P<line>\d{1,9})')
_RAISED = re.compile(r"^(?P<message>[A-Za-z_][\w.]{0,200}(?:Error|Exception|Exit|Failed|Interrupt|Warning)\b(?::.*)?)$")
_TRITON = re.compile(r"^(?:[\w.]{1,200}:\s*)?at (?P<line>\d{1,9}):\d{1,9}:")


class CompileFailed(RuntimeError):
    """A candidate's text could not be built. `diagnostics` holds what the compiler said, first errors first."""

    def __init__(
        self, reason: str, diagnostics: Iterable[Diagnostic] = (), timed_out: bool = False, facts: dict[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.facts = facts
        self.reason = reason
        self.diagnostics = tuple(diagnostics)
        self.timed_out = timed_out


def parse_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Messages of gcc, clang, nvcc, ptxas, the assembler, the linker, Python and triton, in their order, at most 50 of at most 500 characters.

    Over the cap errors are kept before warnings, warnings before notes. A text in which nothing is recognised gives ().
    """
    text = text[:MAX_TEXT]
    found: list[Diagnostic] = []
    frame: tuple[str, int] | None = None
    for line in text.splitlines():
        line = line[:2000]
        if (match := _FRAME.match(line)) is not None:
            frame = (match["file"], int(match["line"]))
            continue
        item = _compiler_line(line) or _python_line(line, frame)
        if item is not None and item not in found[-5:]:
            found.append(item)
        if len(found) >= 20 * MAX_ITEMS:
            break
    return capped(found)


def capped(items: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """At most 50 items in their order; errors survive before warnings, warnings before notes."""
    every = list(items)
    if len(every) <= MAX_ITEMS:
        return tuple(every)
    rank = {"error": 0, "warning": 1, "note": 2}
    kept = sorted(range(len(every)), key=lambda index: (rank[every[index].severity], index))[:MAX_ITEMS]
    return tuple(every[index] for index in sorted(kept))


def first_error(diagnostics: Iterable[Diagnostic]) -> str | None:
    """`file:line: message` of the first error, for people; None when there is none."""
    for item in diagnostics:
        if item.severity == "error":
            place = f"{item.file or ''}:{item.line}: " if item.line else (f"{item.file}: " if item.file else "")
            return place + item.message
    return None


def diagnostic(file: str | None, line: int | None, message: str, severity: Severity = "error") -> Diagnostic:
    """A Diagnostic with its file's folder removed, its message on one line and cut to 500 characters."""
    name = PurePosixPath(file.strip()).name[:200] if file else None
    return Diagnostic(
        file=name or None,
        line=line if line is not None and line >= 1 else None,
        severity=severity,
        message=" ".join(message.split())[:MAX_MESSAGE],
    )


def _compiler_line(line: str) -> Diagnostic | None:
    for pattern in (_GNU, _NVCC, _PTXAS, _TOOL, _LINKER):
        match = pattern.match(line)
        if match is None:
            continue
        parts = match.groupdict()
        number = parts.get("line")
        return diagnostic(parts.get("file"), int(number) if number else None, parts["message"], _severity(parts.get("severity") or "error"))
    return None


def _python_line(line: str, frame: tuple[str, int] | None) -> Diagnostic | None:
    if (match := _TRITON.match(line)) is not None:
        return diagnostic(None, int(match["line"]), line)
    if (match := _RAISED.match(line)) is not None:
        file, number = frame or (None, None)
        return diagnostic(file, number, match["message"])
    return None


def _severity(word: str) -> Severity:
    if "warning" in word.lower():
        return "warning"
    return "note" if word.startswith(("note", "remark", "info")) else "error"
