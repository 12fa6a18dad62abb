"""torch.cuda._compile_kernel, timed, recorded and cached by content. Child side: used only in a process that has torch."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.toolchain.cache import content_key
from popcorn.toolchain.diagnostics import CompileFailed, first_error, parse_diagnostics

Note = Callable[[dict[str, Any]], None]


def intercept_nvrtc(note: Note, folder: Path | str | None = None) -> None:
    """Wrap the compile step of torch.cuda._compile_kernel.

    `note` is called once for each compile with {"name", "seconds", "cached", "key", "error"}. `folder` keeps the binaries; it must belong
    to this candidate alone, for what lies there is loaded again. A failed compile raises CompileFailed with the compiler's lines.
    """
    import torch.cuda._utils as utils

    original = utils._nvrtc_compile
    store = _Store(Path(folder)) if folder is not None else None

    def compile_kernel(kernel_source: str, kernel_name: str, *args: Any, **kwargs: Any) -> tuple[bytes, str]:
        key = content_key(
            {"source": kernel_source, "name": kernel_name, "rest": [repr(args), repr(sorted(kwargs.items()))], "device": _device()}
        )
        start = time.monotonic()
        found = store.find(key) if store is not None else None
        if found is not None:
            note(_row(kernel_name, key, start, cached=True))
            return found
        try:
            made: tuple[bytes, str] = original(kernel_source, kernel_name, *args, **kwargs)
        except RuntimeError as failure:
            diagnostics = parse_diagnostics(str(failure))
            note(_row(kernel_name, key, start, cached=False, error=str(failure)))
            raise CompileFailed(first_error(diagnostics) or str(failure)[:500], diagnostics) from failure
        note(_row(kernel_name, key, start, cached=False))
        if store is not None:
            store.keep(key, *made)
        return made

    utils._nvrtc_compile = compile_kernel


def _row(name: str, key: str, start: float, cached: bool, error: str | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "seconds": time.monotonic() - start,
        "cached": cached,
        "key": key,
        "error": None if error is None else error[:500],
    }


def _device() -> str:
    import torch

    capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else None
    return f"{torch.__version__} {torch.version.cuda} {capability}"


class _Store:
    """Binaries by key: `<key>.bin`, and beside it the mangled name and a hash that a half-written file fails."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, key: str) -> tuple[bytes, str] | None:
        try:
            facts = json.loads((self._folder / f"{key}.json").read_text())
            binary = (self._folder / f"{key}.bin").read_bytes()
        except (OSError, ValueError):
            return None
        return (binary, str(facts["name"])) if hashlib.sha256(binary).hexdigest() == facts["sha256"] else None

    def keep(self, key: str, binary: bytes, name: str) -> None:
        for suffix, content in (
            (".bin", binary),
            (".json", json.dumps({"name": name, "sha256": hashlib.sha256(binary).hexdigest()}).encode()),
        ):
            temporary = self._folder / f"{key}{suffix}.{os.getpid()}"
            temporary.write_bytes(content)
            temporary.rename(self._folder / f"{key}{suffix}")
