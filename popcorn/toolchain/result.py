"""BuildResult: what became of a text."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from popcorn.schema.record import Build
from popcorn.schema.verdict import Diagnostic
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.diagnostics import CompileFailed

Kind = Literal["python", "native", "extension"]
Failure = Literal["compile_error", "timeout"]


@dataclass(frozen=True)
class BuildResult:
    """A build, or why there is none."""

    language: str
    """One of LANGUAGES."""
    kind: Kind
    """`python`: the text itself is imported in the child. `native`: a library with the C interface. `extension`: an extension module."""
    path: Path | None = None
    """The library; None for Python modules and failures."""
    key: str | None = None
    """Content key, 64 hex digits; None for Python modules."""
    seconds: float = 0.0
    """Wall time of this call's compiling; 0 when it was found in the cache."""
    cached: bool = False
    """True when the build was found."""
    tier: str | None = None
    """Header tier that compiled: stable, per-operator, full; None where there is none."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What the compiler said, warnings too."""
    reason: str | None = None
    """Why it failed, for people; None on success."""
    failure: Failure | None = None
    """The verdict's outcome when it failed."""
    facts: dict[str, Any] | None = None
    """Particulars kept with the build: `backward` (native), `tiers` (seconds of each tier tried)."""

    @property
    def ok(self) -> bool:
        """True when there is something to load."""
        return self.failure is None

    def record(self) -> Build:
        """The form that a Record keeps."""
        return Build(
            build_s=self.seconds, cached=self.cached, key=self.key, tier=self.tier, diagnostics=self.diagnostics, reason=self.reason
        )

    @classmethod
    def from_cache(
        cls, cache: BuildCache, key: str, make: Callable[[Path], dict[str, Any]], *, language: str, kind: Kind, file: str
    ) -> "BuildResult":
        """Build through the cache; a CompileFailed of `make` becomes a result with a reason."""
        start = time.monotonic()
        try:
            entry = cache.build(key, make, language)
        except CompileFailed as failed:
            return cls.failed(language, kind, failed, key=key, seconds=time.monotonic() - start)
        return cls(
            language=language,
            kind=kind,
            path=entry.folder / file,
            key=key,
            seconds=0.0 if entry.cached else float(entry.facts["seconds"]),
            cached=entry.cached,
            tier=entry.facts.get("tier"),
            diagnostics=tuple(Diagnostic.model_validate(item) for item in entry.facts.get("diagnostics", ())),
            facts=entry.facts,
        )

    @classmethod
    def failed(cls, language: str, kind: Kind, failed: CompileFailed, key: str | None = None, seconds: float = 0.0) -> "BuildResult":
        """A result that says why there is nothing to load."""
        return cls(
            language=language,
            kind=kind,
            key=key,
            seconds=seconds,
            diagnostics=failed.diagnostics,
            reason=failed.reason,
            failure="timeout" if failed.timed_out else "compile_error",
            facts=failed.facts,
        )
