"""Is it the candidate's own error? A text that is wrong in every tier of headers must not cost the heavy ones a minute of parsing."""

import functools
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from popcorn.schema.verdict import Diagnostic
from popcorn.toolchain.command import run_command
from popcorn.toolchain.header_tiers import DEFINE, METHOD, QUALIFIED
from popcorn.toolchain.languages import without_comments
from popcorn.toolchain.native import INCLUDE_FOLDER
from popcorn.toolchain.torch_install import TorchInstall

_TORCH_MACRO = re.compile(r"\b(?:AT|TORCH|C10|CUDA_KERNEL|STD_TORCH|THO|STABLE)_\w+\b")
_SYNTAX = re.compile(
    r"^expected (?:an? )?(?:[\"'‘`;(){}\[\],]|expression|identifier|declaration|statement|unqualified-id|primary-expression|initializer)"
    r"|^stray |^missing terminating|unrecognized token|^this declaration has no storage class or type specifier|^extra text after"
)
_UNDEFINED = re.compile(r"""^(?:identifier )?["'‘](\w+)["'’] (?:is undefined|was not declared in this scope)""")
_NO_MEMBER = re.compile(
    r"""^class ["'‘]at::Tensor["'’] has no member "(\w+)"|^['‘]class at::Tensor['’] has no member named ['‘](\w+)['’]"""
)
_USING = re.compile(r"\busing\s+namespace\s+(?:torch|at|c10|cub|thrust)\b")
_PREFIXES = ("cu", "nv", "Py", "py", "__", "NV", "CU")


def is_users_own(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str], torch: TorchInstall, folder: Path, compiler: str) -> bool:
    """True when the stable tier's errors would be errors in every tier.

    Said only of a text that names nothing of torch that the look-alike lacks, and then in four cases: every error is one of syntax; an
    unqualified name that no header of torch, C, C++ or Python declares; a method that at::Tensor does not have; every error lies in
    device code that uses nothing of torch. `folder` takes a probe, compiled with `compiler` (g++).
    """
    errors = [item for item in diagnostics if item.severity == "error"]
    if not errors or any(_unknown_names(text, torch) for text in texts.values()):
        return False
    if all(_SYNTAX.search(item.message) for item in errors):
        return True
    if any((match := _NO_MEMBER.search(item.message)) and not _is_method(match[1] or match[2], torch) for item in errors):
        return True
    if not any(_USING.search(text) for text in texts.values()):
        names = sorted({match[1] for item in errors if (match := _UNDEFINED.search(item.message))})[:8]
        if any(not name.startswith(_PREFIXES) and not _is_macro(name, torch) for name in _undeclared(names, folder, compiler)):
            return True
    return all(item.line is not None and item.file and _in_device_code(texts.get(item.file, ""), item.line) for item in errors)


@functools.lru_cache(maxsize=1)
def _look_alike_words() -> frozenset[str]:
    return frozenset(word for path in (INCLUDE_FOLDER / "stable").glob("*.h") for word in re.findall(r"\w+", path.read_text()))


def _unknown_names(text: str, torch: TorchInstall) -> set[str]:
    """Names that torch may know and the look-alike does not."""
    blanked = without_comments(text)
    names = set(QUALIFIED.findall(blanked)) | (set(_TORCH_MACRO.findall(blanked)) - set(DEFINE.findall(blanked)))
    operators = torch.include_folders[0] / "ATen" / "ops"
    names |= {name for name in METHOD.findall(blanked) if (operators / f"{name}.h").is_file()}
    return names - _look_alike_words()


def _undeclared(names: Sequence[str], folder: Path, compiler: str) -> list[str]:
    """Those of the names that neither C, C++ nor Python headers declare outside a namespace, nor define as a macro."""
    if not names:
        return []
    head = ["#include <bits/stdc++.h>", "#include <unistd.h>", "#include <Python.h>"]
    lines = [*head, *(f"#ifndef {name}\nusing ::{name};\n#endif" for name in names)]
    (folder / "probe.cpp").write_text("\n".join(lines) + "\n")
    include = sysconfig.get_path("include", scheme="posix_prefix")
    ran = run_command([compiler, "-fsyntax-only", "-isystem", include, "-fdiagnostics-color=never", "probe.cpp"], folder, 30.0)
    if "fatal error" in ran.output:
        return []  # the probe itself failed: in doubt, the next tier decides
    wrong = {int(line) for line in re.findall(r"^probe\.cpp:(\d+):\d+: error:", ran.output, re.MULTILINE)}
    return [name for index, name in enumerate(names) if len(head) + 3 * index + 2 in wrong]


def _is_macro(name: str, torch: TorchInstall) -> bool:
    grep = shutil.which("grep")
    if grep is None:
        return True
    command = [grep, "-rqE", rf"#[[:space:]]*define[[:space:]]+{name}\b", str(torch.include_folders[0])]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 1


def _is_method(name: str, torch: TorchInstall) -> bool:
    folder = torch.include_folders[0] / "ATen" / "core"
    return any(re.search(rf"\b{name}\b", (folder / file).read_text()) for file in ("TensorBody.h", "TensorBase.h"))


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
