"""Source text on a page: highlighted by Pygments, cut where it is too long, differences of two versions."""

import difflib
import functools
from typing import Any

from markupsafe import Markup

from popcorn.site.embedding import deliver

LIMIT = 60_000
"""Characters that are highlighted on a page; the rest is in the file beside it."""

_LEXERS = {"c": "c", "cpp": "cpp", "c++": "cpp", "cuda": "cuda", "sycl": "cpp"}


@functools.lru_cache(maxsize=512)
def highlight(source: str, language: str = "python") -> Markup:
    """The text as highlighted HTML, one element a line so that lines can be numbered and linked."""
    from pygments import highlight as run

    python = language not in _LEXERS or "import torch" in source[:4000]
    return Markup(run(clean(source[:LIMIT]), _lexer("python" if python else _LEXERS[language]), _formatter()))


@functools.cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


@functools.cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False)


def lines_of(source: str, language: str = "python") -> list[Markup]:
    """The highlighted lines."""
    return [Markup(line) for line in str(highlight(source, language)).rstrip("\n").split("\n")]


@functools.lru_cache(maxsize=512)
def numbered(source: str, language: str = "python") -> Markup:
    """The highlighted lines as items of a list, in one piece: a template that goes round lines takes most of a page's time."""
    return Markup("".join(f"<li>{line}\n</li>" for line in lines_of(source, language)))


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """Changed lines of two versions as (kind, line): `+`, `-`, ` ` or `@`."""
    made = difflib.unified_diff(before[:LIMIT].splitlines(), after[:LIMIT].splitlines(), lineterm="", n=2)
    return [(line[:1], line[1:] if line[:1] in "+- " else line) for line in list(made)[2:]]


_CLASSES = {"+": "plus", "-": "minus", "@": "at"}


def shown(changes: list[tuple[str, str]]) -> Markup:
    """A difference as HTML, one element a line."""
    from markupsafe import escape

    return Markup(
        "".join(f'<div class="{_CLASSES.get(kind, "same")}">{kind if kind != "@" else ""}{escape(line)}</div>' for kind, line in changes)
    )


def delivered(record_id: str, source: str | None) -> str:
    """A script that hands a kernel's text to the page that compares two of them: pages from a disk may load scripts, but fetch nothing."""
    return deliver(f"source-{record_id}", clean((source or "")[:LIMIT]))


def style() -> str:
    """CSS of the highlighting, light and dark, from two of Pygments' accessible styles."""
    from pygments.formatters import HtmlFormatter

    def rules(name: str, scope: str) -> str:
        lines = HtmlFormatter(style=name).get_style_defs(f"{scope} .code").splitlines()
        return "\n".join(line for line in lines if line.startswith(f"{scope} .code .") and "background" not in line.partition("{")[0])

    return f"{rules('xcode', ':root')}\n{rules('github-dark', ':root.dark')}\n"


def clean(text: str) -> str:
    """Controls that would hide or reorder source text are written out: what is read is what is compiled."""
    return text.translate(_HIDDEN)


_CONTROLS = (*range(9), 11, 12, *range(14, 32), 127, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_HIDDEN = {number: f"\\u{number:04x}" for number in _CONTROLS}
