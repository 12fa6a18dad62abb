"""load_inline and load of a candidate, sent to the parent instead of compiled in its child.

`intercept` is the child half (a process that has torch); `build_inline` and `answer` are the parent half, which never imports torch.
"""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from popcorn.schema.verdict import Diagnostic
from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.inline_build import InlineRequest, answer, build_inline

Ask = Callable[[dict[str, Any]], dict[str, Any]]

MAX_FILE_BYTES = 2_000_000
_SOURCES = (".cpp", ".cc", ".cxx", ".c", ".cu")
_HEADERS = (".h", ".hpp", ".cuh", ".inl", ".inc")

__all__ = ["Ask", "CompileFailed", "InlineRequest", "answer", "build_inline", "intercept"]


def intercept(ask: Ask) -> None:
    """Replace torch.utils.cpp_extension.load_inline and load by versions that send a plain-JSON request to `ask`.

    `ask` returns {"path": …} or {"error": text, "diagnostics": […]}; the library at `path` is imported and returned. A failed build
    raises CompileFailed, a RuntimeError. Call it before the candidate's module runs.
    """
    import torch.utils.cpp_extension as extension

    built: dict[str, Any] = {}

    def request_module(request: dict[str, Any]) -> Any:
        reply = ask(request)
        if "path" not in reply:
            diagnostics = [Diagnostic.model_validate(item) for item in reply.get("diagnostics", ())]
            raise CompileFailed(str(reply.get("error", "the build failed")), diagnostics, bool(reply.get("timed_out")))
        path = str(reply["path"])
        if path not in built:
            built[path] = _import(request["name"], path, request["is_python_module"])
        return built[path]

    def load_inline(
        name: str, cpp_sources: Any, cuda_sources: Any = None, sycl_sources: Any = None, functions: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        if args:  # the order of the rest differs between versions of torch
            raise CompileFailed("load_inline takes at most five positional arguments here: name the others.")
        if sycl_sources:
            raise CompileFailed("SYCL sources are not built here.")
        request = _request(name, kwargs)
        request |= {
            "cpp_sources": _texts(cpp_sources),
            "cuda_sources": _texts(cuda_sources),
            "functions": _functions(functions),
            "error_handling": bool(kwargs.get("with_pytorch_error_handling", True)),
            "no_implicit_headers": bool(kwargs.get("no_implicit_headers", False)),
        }
        return request_module(request)

    def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
        if args:
            raise CompileFailed("load takes two positional arguments here: name the others.")
        paths = _texts(sources)
        request = _request(name, kwargs) | {"files": _files(paths)}
        # the sources' own folder goes along with its headers; by name it would be another one in every process that makes it anew
        own = Path(paths[0]).resolve().parent if paths else None
        request["extra_include_paths"] = ["." if Path(path).resolve() == own else path for path in request["extra_include_paths"]]
        return request_module(request)

    extension.load_inline = load_inline
    extension.load = load


def _request(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    import torch

    lists = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths")
    with_cuda = settings.get("with_cuda")
    return {
        "name": str(name),
        **{key: _texts(settings.get(key)) for key in lists},
        "with_cuda": None if with_cuda is None else bool(with_cuda),
        "is_python_module": bool(settings.get("is_python_module", True)),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }


def _texts(given: Any) -> list[str]:
    if given is None:
        return []
    return [str(given)] if isinstance(given, str | Path) else [str(item) for item in given]


def _functions(given: Any) -> dict[str, str] | None:
    if given is None:
        return None
    if isinstance(given, dict):
        return {str(name): str(text) for name, text in given.items()}
    if isinstance(given, str):
        return {given: given}
    if isinstance(given, list):
        return {str(name): str(name) for name in given}
    raise ValueError(f"Expected 'functions' to be a list or dict, but was {type(given)}")


def _files(paths: list[str]) -> dict[str, str]:
    """The texts of the sources and of the headers beside them: the parent opens no path that a candidate names."""
    folder = Path(paths[0]).resolve().parent if paths else Path()
    found: dict[str, str] = {}
    for path in [Path(path).resolve() for path in paths]:
        if path.parent != folder:
            raise CompileFailed("the sources given to load lie in several folders; put them into one.")
        found[path.name] = _text(path)
    for path in sorted(folder.iterdir()) if paths else ():
        if path.suffix in _HEADERS and path.is_file():
            found.setdefault(path.name, _text(path))
    return found


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CompileFailed(f"{path.name} has more than {MAX_FILE_BYTES:,} bytes.")
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CompileFailed(f"{path.name} cannot be read: {error}") from None


def _import(name: str, path: str, is_python_module: bool) -> ModuleType | str:
    if not is_python_module:
        import torch

        torch.ops.load_library(path)
        return path
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    before = sys.modules.get(name)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise CompileFailed(f"the library was built but cannot be imported: {error}") from error
    finally:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
    return module
