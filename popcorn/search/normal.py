"""A text without what changes nothing: comments and spacing. Two texts that are equal then are one program, judged once."""

import ast
import re

from popcorn.toolchain.languages import is_python


def normal(source: str) -> str:
    """Comparable. C, C++ and CUDA: tokens of the parse tree without comments, lines of the preprocessor kept apart. Python: its tree."""
    if is_python("kernel", source):
        try:
            return ast.dump(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return source
    return _tokens(source)


_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\w+(?:\.\w*)?|\n\s*#[^\n]*|\S')


def _tokens(source: str) -> str:
    bare = _COMMENT_OR_TEXT.sub(lambda match: match[1] or " ", "\n" + source.replace("\\\n", " "))
    return "\x1f".join(" ".join(token.split()) for token in _TOKEN.findall(bare))
