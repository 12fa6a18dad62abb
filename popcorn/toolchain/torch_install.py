"""Facts about the installed torch, read from its files: the parent never imports it."""

import functools
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from popcorn.errors import MissingTool


@dataclass(frozen=True)
class TorchInstall:
    """Where torch lies and what its own extension builder would do."""

    folder: Path
    """The package's folder."""
    version: str
    """`2.11.0+cu130`."""
    cuda: str | None
    """CUDA release it was built with; None for a CPU build."""
    standard: str
    """The C++ standard that its cpp_extension asks for, `-std=c++17` or `-std=c++20`."""

    @property
    def include_folders(self) -> tuple[Path, Path]:
        """torch/include and the C++ frontend's own."""
        include = self.folder / "include"
        return include, include / "torch" / "csrc" / "api" / "include"

    @property
    def library_folder(self) -> Path:
        """torch/lib."""
        return self.folder / "lib"

    def has_library(self, name: str) -> bool:
        """True when lib<name>.so is there."""
        return (self.library_folder / f"lib{name}.so").exists()


@functools.lru_cache(maxsize=1)
def find_torch() -> TorchInstall:
    """The torch that `import torch` would load. Raises MissingTool when there is none."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise MissingTool("torch is not installed: pip install torch")
    folder = Path(next(iter(found.submodule_search_locations)))
    version = (folder / "version.py").read_text()
    builder = (folder / "utils" / "cpp_extension.py").read_text()
    return TorchInstall(
        folder=folder,
        version=_quoted(version, "__version__") or "unknown",
        cuda=_quoted(version, "cuda"),
        standard=max(re.findall(r"'(-std=c\+\+\d\d)'", builder), default="-std=c++17"),
    )


def _quoted(text: str, name: str) -> str | None:
    match = re.search(rf"^{name}\s*(?::[^=\n]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return match[1] if match else None
