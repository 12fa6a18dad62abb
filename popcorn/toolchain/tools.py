"""Which packages and compilers a language needs, and the command that brings each."""

import importlib.util

from popcorn.errors import MissingTool
from popcorn.toolchain.command import find_compiler

_PACKAGES = {
    "triton": ("triton", "pip install triton"),
    "tilelang": ("tilelang", "pip install 'popcornbench[tilelang]'"),
    "cute": ("cutlass", "pip install 'popcornbench[cute]'"),
}


def missing_tool(language: str) -> str | None:
    """One sentence with the installing command when something that the language needs is absent; None when all is there.

    Looks for packages without importing them. `cuda` modules are not asked for nvcc here: NVRTC needs none.
    """
    if language in _PACKAGES:
        module, command = _PACKAGES[language]
        if importlib.util.find_spec(module) is None:
            return f"{language} kernels need the package {module}, which is not installed: {command}"
        return None
    if language in ("c", "cpp", "sycl"):
        try:
            find_compiler(language)
        except MissingTool as missing:
            return str(missing)
    return None


def require_tools(language: str, device_kind: str) -> None:
    """Raise MissingTool when something that the language needs is absent."""
    missing = missing_tool(language)
    if missing is not None:
        gpu = "; it needs a GPU, too, and the device chosen is a CPU" if language in _PACKAGES and device_kind != "cuda" else ""
        raise MissingTool(missing + gpu)
