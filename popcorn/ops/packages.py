"""Packages of others that implementations are written for: which versions, the command that brings them, and why one cannot serve here. Imports without torch."""

import importlib.metadata
import re
from dataclasses import dataclass

from popcorn.ops.calls import Rejected


@dataclass(frozen=True)
class Package:
    """What an implementation is written for."""

    name: str
    """As its registry knows it."""
    bounds: str
    """Versions whose interface was read: `>=0.6,<0.7`; empty where any will do."""
    command: str
    """Brings one."""


def _extra(name: str) -> str:
    return f"pip install 'popcornbench[{name}]'"


PACKAGES = {
    "liger": Package("liger-kernel", ">=0.5,<1", _extra("liger")),
    "fla": Package("fla-core", ">=0.6,<0.7", _extra("fla")),
    "quack": Package("quack-kernels", ">=0.6,<0.7", _extra("quack")),
    "transformer_engine": Package("transformer-engine", ">=2.20,<3", _extra("transformer_engine")),
    "fa3": Package("flash-attn-3", ">=3,<4", "pip install flash-attn-3 --index-url https://download.pytorch.org/whl/cu130"),
}
"""By the implementation's name. Each is an extra in pyproject.toml with the same bounds, but for flash-attn-3, which is not on PyPI."""

TOOLS = {"triton": Package("triton", "", "pip install triton")}
"""What implementations of our own are written in."""


def missing(package: Package, error: Exception) -> Rejected:
    """Why a package that did not import cannot serve: it is not here, or in its own words."""
    if isinstance(error, ModuleNotFoundError) and _version(package) is None:
        return Rejected(f"for cuda only, and needs {package.name}{package.bounds}: {package.command}")
    words = " ".join(str(error).split())[:200] or type(error).__name__
    return Rejected(f"{package.name} does not import here ({words}); try {package.command}")


def outside(package: Package) -> Rejected | None:
    """Why the installed version cannot serve, None where it can or is not told."""
    version = _version(package)
    if version is None or all(_holds(version, bound) for bound in package.bounds.split(",") if bound):
        return None
    return Rejected(f"was written for {package.name}{package.bounds}; {version} is installed: {package.command}")


def _version(package: Package) -> str | None:
    try:
        return importlib.metadata.version(package.name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _holds(version: str, bound: str) -> bool:
    """Numbers alone: 3.0.0b1 counts as 3.0.0, as its interface does."""
    found, wanted = ([int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text)[0])] for text in (version, bound.lstrip("<>=")))
    longest = max(len(found), len(wanted))
    found, wanted = (numbers + [0] * (longest - len(numbers)) for numbers in (found, wanted))
    return found >= wanted if bound.startswith(">=") else found < wanted
