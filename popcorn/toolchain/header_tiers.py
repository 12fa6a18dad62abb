"""Which headers a load_inline text needs. Parsing all of torch is nearly the whole cost of a build, so the lightest that keeps the meaning is first."""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from popcorn.schema.verdict import Diagnostic
from popcorn.toolchain.languages import without_comments
from popcorn.toolchain.native import INCLUDE_FOLDER
from popcorn.toolchain.torch_install import TorchInstall

STABLE, PER_OPERATOR, FULL = "stable", "per-operator", "full"

_FULL_ONLY = re.compile(
    r"\b(?:PYBIND11\w*|pybind11|TORCH_LIBRARY\w*|THP\w+|requires_grad\w*|__has_include)\b|\bpy::"
    r"|\btorch::(?:nn|autograd|jit|tensor|optim|data|serialize|save|load|indexing|linalg|special|fft|sparse\w*|from_blob|python|utils)\b"
)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(?P<expression>(?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_OWN_MACRO = re.compile(r"__\w+|_OPENMP|_GNU_SOURCE|NDEBUG|M_PI|defined|INFINITY|NAN|WARP_SIZE|\d\w*")
_HALF = re.compile(r"half|bfloat16|bf16|fp16", re.IGNORECASE)
_QUALIFIED = re.compile(r"\b(?:torch|at|c10)\s*::\s*(?:\w+\s*::\s*)*(\w+)")
_METHOD = re.compile(r"(?:\.|->)\s*(\w+)\s*(?:<[^<>;(){}]*>)?\s*\(")
_TORCH_MACRO = re.compile(r"\b(?:AT|TORCH|C10|CUDA_KERNEL|STD_TORCH|THO|STABLE)_\w+\b")


def possible_tiers(texts: Sequence[str], functions: Mapping[str, str] | None, plain: bool, torch: TorchInstall, default_dtype: str) -> list[str]:
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
    names = {name for text in texts for name in (*_QUALIFIED.findall(text), *_METHOD.findall(text))}
    return sorted(name for name in names if (folder / f"{name}.h").is_file())


def is_users_own(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str], torch: TorchInstall, found_in_headers: "HeaderSearch") -> bool:
    """True when the stable tier's errors would be errors in every tier, so that the heavier ones need not be tried.

    That is said only of a text that names nothing of torch that the look-alike lacks, and then of three kinds: all errors are syntax
    errors; an identifier that stands in no header of torch, CUDA, Python or C++; or all lie in device code that uses nothing of torch.
    """
    errors = [item for item in diagnostics if item.severity == "error"]
    if not errors or any(_unknown_names(text, torch) for text in texts.values()):
        return False
    if all(_SYNTAX.search(item.message) for item in errors):
        return True
    missing = {match[1] for item in errors if (match := _UNDEFINED.search(item.message)) is not None}
    if any(not found_in_headers(name) for name in missing):
        return True
    return all(item.line is not None and item.file in texts and _in_device_code(texts[item.file], item.line) for item in errors)


class HeaderSearch:
    """Does a word stand in any header that a heavier tier would include?"""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [str(folder) for folder in folders if folder.is_dir()]

    def __call__(self, word: str) -> bool:
        import shutil
        import subprocess

        grep = shutil.which("grep")
        if grep is None:
            return True  # in doubt: the next tier decides
        command = [grep, "-rqwF", "-e", word, *self._folders]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 1


_SYNTAX = re.compile(
    r"^expected (?:an? )?(?:[\"'‘`;(){}\[\],]|expression|identifier|declaration|statement|unqualified-id|primary-expression|initializer|declaration)"
    r"|^expected '|^stray |^missing terminating|unrecognized token|^this declaration has no storage class or type specifier|^extra text after"
)
_UNDEFINED = re.compile(r"""^(?:identifier )?["'‘](\w+)["'’] (?:is undefined|was not declared in this scope)""")


def _own_conditions(text: str) -> bool:
    """True when every #if asks only of the compiler and of the text's own macros: torch's macros differ between the tiers."""
    own = set(_DEFINE.findall(text))
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


@functools.lru_cache(maxsize=1)
def _look_alike_words() -> frozenset[str]:
    return frozenset(word for path in (INCLUDE_FOLDER / "stable").glob("*.h") for word in re.findall(r"\w+", path.read_text()))


def _unknown_names(text: str, torch: TorchInstall) -> set[str]:
    """Names that torch may know and the look-alike does not."""
    blanked, known = without_comments(text), _look_alike_words()
    names = set(_QUALIFIED.findall(blanked)) | set(_TORCH_MACRO.findall(blanked)) - set(_DEFINE.findall(blanked))
    operators = torch.include_folders[0] / "ATen" / "ops"
    names |= {name for name in _METHOD.findall(blanked) if (operators / f"{name}.h").is_file()}
    return names - known


def _in_device_code(text: str, line: int) -> bool:
    """True when the line lies in the body of a __global__ or __device__ function that uses nothing of torch."""
    blanked = without_comments(text)
    for match in re.finditer(r"\b__(?:global|device)__\b", blanked):
        start = blanked.find("{", match.end())
        if start < 0 or ";" in blanked[match.end() : start]:
            continue
        depth, end = 0, start
        for end in range(start, len(blanked)):
            depth += {"{": 1, "}": -1}.get(blanked[end], 0)
            if depth == 0:
                break
        first, last = blanked.count("\n", 0, match.start()) + 1, blanked.count("\n", 0, end) + 1
        if first <= line <= last:
            return not re.search(r"\b(?:torch|at|c10)\s*::|scalar_t|ccessor|AT_|C10_", blanked[match.start() : end])
    return False
