"""Source text to a loadable kernel, for every language, cached by content."""

from popcorn.toolchain.build import build
from popcorn.toolchain.cache import BuildCache, content_key
from popcorn.toolchain.diagnostics import CompileFailed, parse_diagnostics
from popcorn.toolchain.languages import LANGUAGES, check_contract, detect_language
from popcorn.toolchain.result import BuildResult

__all__ = [
    "LANGUAGES",
    "BuildCache",
    "BuildResult",
    "CompileFailed",
    "build",
    "check_contract",
    "content_key",
    "detect_language",
    "parse_diagnostics",
]
