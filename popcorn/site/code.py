"""Source text on a page: highlighted by Pygments, cut where it is too long, differences of two versions."""

import difflib
import functools

from markupsafe import Markup

LIMIT = 60_000
"""Characters that are highlighted on a page; the rest is in the file beside it."""

_LEXERS = {"c": "c", "cpp": "cpp", "c++": "cpp", "cuda": "cuda", "sycl": "cpp"}


@functools.lru_cache(maxsize=512)
def highlight(source: str, language: str = "python") -> Markup:
    """The text as highlighted HTML, one element a line so that lines can be numbered and linked."""
    from pygments import highlight as run
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    python = language not in _LEXERS or "import torch" in source[:4000]
    lexer = get_lexer_by_name("python" if python else _LEXERS[language], stripnl=False)
    return Markup(run(clean(source[:LIMIT]), lexer, HtmlFormatter(nowrap=True)))


def lines_of(source: str, language: str = "python") -> list[Markup]:
    """The highlighted lines."""
    return [Markup(line) for line in str(highlight(source, language)).rstrip("\n").split("\n")]


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """Changed lines of two versions as (kind, line): `+`, `-`, ` ` or `@`."""
    made = difflib.unified_diff(before[:LIMIT].splitlines(), after[:LIMIT].splitlines(), lineterm="", n=2)
    return [(line[:1], line[1:] if line[:1] in "+- " else line) for line in list(made)[2:]]


def style() -> str:
    """CSS of the highlighting, light and dark, from two of Pygments' accessible styles."""
    from pygments.formatters import HtmlFormatter

    def rules(name: str, scope: str) -> str:
        lines = HtmlFormatter(style=name).get_style_defs(f"{scope} .code").splitlines()
        return "\n".join(line for line in lines if line.startswith(f"{scope} .code .") and "background" not in line.partition("{")[0])

    return f"{rules('xcode', ':root')}\n{rules('github-dark', ':root.dark')}\n"


def clean(text: str) -> str:
    """Controls that would hide or reorder source text are written out: what is read is what is compiled."""
    return "".join(_written(character) if character in _HIDDEN else character for character in text)


_HIDDEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff") | frozenset(map(chr, [*range(9), 11, 12, *range(14, 32), 127]))


def _written(character: str) -> str:
    return f"\\u{ord(character):04x}"
