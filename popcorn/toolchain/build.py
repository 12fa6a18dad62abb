"""The one entry of the parent: a candidate's text → something that a child can load."""

from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import LANGUAGES, check_contract, is_python
from popcorn.toolchain.native import build_native
from popcorn.toolchain.result import BuildResult
from popcorn.toolchain.tools import require_tools


def build(
    source: str,
    language: str,
    name: str,
    cache: BuildCache,
    device_kind: str = "cpu",
    arch: str | None = None,
    timeout_s: float = 120.0,
) -> BuildResult:
    """Build a candidate. Python modules are only checked here (they are imported in the child); native files are compiled.

    `language` is what `detect_language` said, `name` the file's name, `device_kind` `cpu` or `cuda`, `arch` the device's compute
    capability (`9.0`). A text at fault gives a result with `failure` and `reason`; a missing compiler or package raises MissingTool.
    """
    if language not in LANGUAGES:
        raise ValueError(f"{language!r} is not one of {', '.join(LANGUAGES)}")
    python = language not in ("c", "sycl") and (language not in ("cuda", "cpp") or is_python(name, source))
    try:
        check_contract(source, language, python=python, name=name)
        if not python and language == "cuda" and device_kind != "cuda":
            raise CompileFailed("a .cu file needs an NVIDIA GPU, and the device chosen is a CPU.")
    except CompileFailed as failed:
        return BuildResult.failed(language, "python" if python else "native", failed)
    if python:
        require_tools(language, device_kind)
        return BuildResult(language=language, kind="python")
    return build_native(source, language, cache, arch=arch, timeout_s=timeout_s)
