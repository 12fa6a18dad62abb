"""Implementation: one way to carry out an op, and reading it from its file. Imports without torch; most files' own imports need it."""

import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.home import cache_folder
from popcorn.ops.calls import Accepts, Answer, Rejected
from popcorn.ops.gpu_text import gpu_text
from popcorn.ops.packages import PACKAGES, TOOLS, Package, missing, outside
from popcorn.ops.signature import BadOp


@dataclass(frozen=True)
class Implementation:
    """One way to carry out an op."""

    name: str
    """Who wrote it: torch, inductor, popcorn, triton, liger, …"""
    language: str
    """What it is written in: torch, cpp, triton, …"""
    run: Callable[..., Any] | None
    """Takes the op's arguments by place, scalars by name; None where it cannot be loaded here."""
    accepts: Accepts
    """Whether it takes a call."""
    source: str
    """Its text, as recorded."""
    hash: str
    """16 hex digits over everything that it is made of: records of another hash are of another implementation."""
    traced: Callable[..., Any] | None = None
    """The same as something that torch.compile can trace; None: `run` itself can be."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Size → what it must be a multiple of: trials draw such sizes alone."""


def hash_text(*texts: str) -> str:
    """16 hex digits over texts, line ends and trailing spaces evened out."""
    lines = "\n\0".join("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts)
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def adopted_folder(op: str) -> Path:
    """Where implementations that this user adopted are: `$POPCORN_CACHE_DIR/implementations/<op>`."""
    return cache_folder() / "implementations" / op


def load(op: str, path: Path, ours: bool = True) -> Implementation:
    """An implementation from its file; one whose package is missing says so when it is asked. `ours`: it ships with Popcorn."""
    name = path.stem.removeprefix("impl_")
    source = path.read_text(encoding="utf-8")
    package = PACKAGES.get(name) if ours else None
    module: Any = None
    refusal = outside(package) if package else None
    try:
        if refusal is None:
            module = _import(op, path, ours)
    except Exception as error:
        # a file of the user's that does not load costs its own implementation and nothing else, and so does a package of other people
        # a name that ours lacks is a slip in the file; what is not installed is a refusal
        if ours and package is None and (not isinstance(error, ImportError) or (error.name or "").startswith("popcorn")):
            raise
        refusal = Rejected(f"{path.name} does not load: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        if ours:
            lacking = (getattr(error, "name", None) or name).partition(".")[0]
            refusal = missing(package or TOOLS.get(name, Package(lacking, "", f"pip install {lacking}")), error)
    if refusal is not None:
        answer: Answer = refusal
        # records of it are read here, too, and are not of another text
        whole = gpu_text(path) if ours and name == "triton" else source
        return Implementation(name, name, None, lambda call: answer, whole, hash_text(source, whole))
    text = getattr(module, "SOURCE", source)
    language = getattr(module, "LANGUAGE", "torch")
    return Implementation(
        name,
        language,
        module.run,
        module.accepts,
        text,
        hash_text(source, text),
        getattr(module, "traced", None),
        getattr(module, "MULTIPLES", {}),
    )


def part(op: str, file: str, *names: str) -> Any:
    """A file of an op that ships, as a module that defines these names. Raises BadOp for one that does not parse or lacks one."""
    where = f"popcorn/ops/library/{op}/{file}.py"
    try:
        module = importlib.import_module(f"popcorn.ops.library.{op}" + ("" if file == "__init__" else f".{file}"))
    except SyntaxError as error:
        raise BadOp(f"{error.filename or where}, line {error.lineno}: {error.msg}; mend it, or remove the op's folder") from None
    lacking = next((name for name in names if not hasattr(module, name)), None)
    if lacking is not None:
        raise BadOp(f"{where} defines no {lacking}; name it so, as docs/adding.md shows")
    return module


def _import(op: str, path: Path, ours: bool) -> Any:
    if ours:
        return part(op, path.stem, "run", "accepts")
    spec = importlib.util.spec_from_file_location(f"popcorn_adopted_{op}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def traceable(one: Implementation) -> Callable[..., Any]:
    """What runs in eager mode and where calls are watched (torch.compile, torch.func, a trace) alike."""
    run, traced = one.run, one.traced
    assert run is not None
    if traced is None:
        return run
    from popcorn.ops.watching import watched

    def either(*args: Any, **kwargs: Any) -> Any:
        if watched():
            return traced(*args, **kwargs)
        return run(*args, **kwargs)

    return either
