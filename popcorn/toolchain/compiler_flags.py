"""Which flags of a candidate reach a compiler that runs on the trusted side. A flag that names a program or a plugin runs code there."""

import re
import shlex
from collections.abc import Sequence

from popcorn.toolchain.diagnostics import CompileFailed

_TAKES_VALUE = {
    "-D", "-U", "-I", "-isystem", "-L", "-l", "-Xptxas", "--ptxas-options", "-Xcompiler", "--compiler-options", "-Xcudafe",
    "-diag-suppress", "--diag-suppress", "-maxrregcount", "--maxrregcount", "-t", "--threads", "-Xlinker", "-include", "-arch",
    "--gpu-architecture", "-code",
    "--gpu-code", "-gencode", "--generate-code", "-std", "--std", "-O", "--optimize",
}  # fmt: skip
_HOST = re.compile(
    r"-(?:[DUIlL]\S+|D\w+=.*|O\w*|g\w*|w|W(?![lpa],)[\w=+#-]*|pedantic|ansi|pthread|std=[\w+]+|m[\w=.,+-]+|f(?!plugin|profile|dump|auto-profile)[\w=.,+-]+"
    r"|isystem|Wl,(?:--as-needed|--no-as-needed|-rpath,[^\s,]+|-z,\w+|--no-undefined|-O\d|-s)|s|shared|v)"
)
_CUDA = re.compile(
    r"--?(?:use_fast_math|expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|lineinfo|generate-line-info|restrict|ftz=\w+"
    r"|prec-div=\w+|prec-sqrt=\w+|fmad=\w+|maxrregcount=?\d*|extra-device-vectorization"
    r"|ptxas-options=[\w=,.-]+|default-stream[= ]?[\w-]*|threads=?\d*|t=?\d*"
    r"|std=[\w+]+|diag-suppress=?[\d,]*|disable-warnings|Werror=?[\w,-]*|resource-usage|relocatable-device-code=\w+|rdc=\w+|dlto|device-debug|G"
    r"|source-in-ptx|keep-device-functions|optimize=?\w*|O\w*|g|w|D\S+|U\S+|I\S+|l\S+|L\S+|isystem|m64|split-compile=\d+|minimal"
    r"|forward-unknown-to-host-compiler|allow-unsupported-compiler|expt-[\w-]+)"
)
_ARCHITECTURE = re.compile(r"--?(?:gencode|generate-code|arch|gpu-architecture|code|gpu-code)(?:=|$)")
_VALUE = re.compile(r"[\w=.,+:/ ~-]*")


def checked_flags(flags: Sequence[str], compiler: str) -> list[str]:
    """The flags that are passed on; `compiler` is `host` (g++ and the linker) or `cuda` (nvcc).

    Architectures are dropped: a build is for this device. Raises CompileFailed naming a flag that is not allowed.
    """
    words = [word for flag in flags for word in _split(flag)]
    kept: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        value = words[index + 1] if word in _TAKES_VALUE and index + 1 < len(words) else None
        index += 1 if value is None else 2
        if _ARCHITECTURE.match(word) and compiler == "cuda":
            continue
        kept += _checked(word, value, compiler)
    return kept


def _split(flag: str) -> list[str]:
    """`-O3 -lineinfo` in one string is two flags, and quotes are a shell's: torch's own way hands all of them to one."""
    try:
        return shlex.split(flag) if flag.lstrip().startswith("-") else [flag.strip()]
    except ValueError:  # a quote that never ends
        return [flag.strip()]


def _checked(word: str, value: str | None, compiler: str) -> list[str]:
    joined = re.match(r"(-Xcompiler|--compiler-options|-Xptxas|--ptxas-options|-Xlinker|-Xcudafe)=(.*)", word, re.DOTALL)
    if joined is not None and value is None:
        word, value = joined[1], joined[2]
    if compiler == "cuda" and word in ("-Xcompiler", "--compiler-options") and value is not None:
        inner = [part for piece in value.strip("\"'").split(",") for part in piece.split()]
        return [part for flag in checked_flags(inner, "host") for part in ("-Xcompiler", flag)]
    if compiler == "cuda" and word in ("-Xptxas", "--ptxas-options", "-Xcudafe") and value is not None and _VALUE.fullmatch(value):
        return [word, value]
    if value is not None:
        if word not in ("-Xlinker", "-code", "-arch", "-include") and _VALUE.fullmatch(value) and not value.startswith("-"):
            return [word, value]
        raise CompileFailed(f"the flag {word[:80]} {value[:80]} is not allowed here.")
    pattern = _CUDA if compiler == "cuda" else _HOST
    if pattern.fullmatch(word) and not re.search(r"[@;`$|<>]", word):
        return [word]
    raise CompileFailed(
        f"the compiler flag {word[:100]!r} is not allowed here: use optimisation, warning, macro, include and library flags."
    )
