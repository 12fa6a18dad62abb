"""Which headers a load_inline text needs.

Parsing all of torch is nearly the whole cost of a build, so the lightest headers that keep the meaning come first.
"""

import re
from collections.abc import Mapping, Sequence

from popcorn.toolchain.languages import without_comments
from popcorn.toolchain.native import INCLUDE_FOLDER
from popcorn.toolchain.torch_install import TorchInstall

STABLE, PER_OPERATOR, FULL = "stable", "per-operator", "full"

_FULL_ONLY = re.compile(
    r"\b(?:PYBIND11\w*|pybind11|TORCH_LIBRARY\w*|THP\w+|requires_grad\w*|__has_include)\b|\bpy::"
    r"|\btorch::(?:nn|autograd|jit|tensor|optim|data|serialize|save|load|indexing|linalg|special|fft|sparse\w*|from_blob|python|utils)\b"
)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(?P<expression>(?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_OWN_MACRO = re.compile(r"__\w+|_OPENMP|_GNU_SOURCE|NDEBUG|M_PI|defined|INFINITY|NAN|WARP_SIZE|\d\w*")
_HALF = re.compile(r"half|bfloat16|bf16|fp16", re.IGNORECASE)
QUALIFIED = re.compile(r"\b(?:torch|at|c10)\s*::\s*(?:\w+\s*::\s*)*(\w+)")
METHOD = re.compile(r"(?:\.|->)\s*(\w+)\s*(?:<[^<>;(){}]*>)?\s*\(")


def possible_tiers(
    texts: Sequence[str], functions: Mapping[str, str] | None, plain: bool, torch: TorchInstall, default_dtype: str
) -> list[str]:
    """The tiers worth trying, lightest first; the full one is always last.

    `texts` are the C++ and CUDA sources, `functions` the names to bind, `plain` is False when the call asks for something that only
    torch's own way gives (source files, its own module definition, no error handling).
    """
    blanked = [without_comments(text) for text in texts]
    if not plain or not functions or not all(name.isidentifier() and name.isascii() for name in functions):
        return [FULL]
    if any(_FULL_ONLY.search(text) for text in blanked) or not all(_own_conditions(text) for text in blanked):
        return [FULL]
    tiers = [PER_OPERATOR, FULL]
    if default_dtype == "float32" and all(_known_includes(text) for text in texts) and (not needs_half(texts) or _has_half(torch)):
        tiers.insert(0, STABLE)
    return tiers


def needs_half(texts: Sequence[str]) -> bool:
    """True when a text speaks of 16-bit floats: only then are their headers worth a second of parsing."""
    return any(_HALF.search(text) for text in texts)


def used_operators(texts: Sequence[str], torch: TorchInstall) -> list[str]:
    """ATen operators that have a header of their own and whose names stand in the texts after `torch::`, `at::` or a dot."""
    folder = torch.include_folders[0] / "ATen" / "ops"
    names = {name for text in texts for name in (*QUALIFIED.findall(text), *METHOD.findall(text))}
    return sorted(name for name in names if (folder / f"{name}.h").is_file())


def _own_conditions(text: str) -> bool:
    """True when every #if asks only of the compiler and of the text's own macros: torch's macros differ between the tiers."""
    own = set(DEFINE.findall(text))
    for match in _CONDITION.finditer(text):
        words = re.findall(r"\b\w+\b", match["expression"])
        if any(word not in own and not _OWN_MACRO.fullmatch(word) and not word.endswith(("_H", "_CUH", "_H_", "_CUH_")) for word in words):
            return False
    return True


def _known_includes(text: str) -> bool:
    """True when every header of torch that the text includes is one that the look-alike has."""
    for name in _INCLUDE.findall(_COMMENT.sub(" ", text)):
        if name.startswith(("torch/", "ATen/", "c10/", "caffe2/")) and not (INCLUDE_FOLDER / "stable" / name).is_file():
            return False
    return True


def _has_half(torch: TorchInstall) -> bool:
    return (torch.include_folders[0] / "torch" / "headeronly" / "util" / "Half.h").is_file()
