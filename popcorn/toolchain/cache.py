"""Builds kept by content: one folder a key, published by a rename, made once by one process, oldest evicted first."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_MAX_BYTES = 20_000_000_000
KEEP_RECENT_S = 600.0
"""Entries touched within this time are never evicted: another process may be about to load them."""


def content_key(parts: Mapping[str, Any]) -> str:
    """SHA-256 (64 hex digits) of everything that shapes a build: sources, flags, arch, compiler, torch, headers."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One published build."""

    folder: Path
    """Where its files lie. Read-only by agreement."""
    cached: bool
    """True when it was found, not made."""
    facts: dict[str, Any]
    """What `make` returned: JSON, such as the tier and the seconds."""


class BuildCache:
    """Content-keyed build folders under `folder`, at most about `max_bytes` in all. Safe between threads and processes."""

    def __init__(self, folder: Path | str, max_bytes: int = DEFAULT_MAX_BYTES, keep_recent_s: float = KEEP_RECENT_S) -> None:
        self.folder = Path(folder).resolve()
        self.max_bytes = max_bytes
        self.keep_recent_s = keep_recent_s
        self.log_path = self.folder / "builds.jsonl"
        for name in ("entries", "temporary", "locks"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def find(self, key: str) -> Entry | None:
        """The entry, marked as just used; None when there is none."""
        folder = self.folder / "entries" / key
        try:
            facts = json.loads((folder / "entry.json").read_text())
            os.utime(folder)
        except (OSError, ValueError):
            return None
        return Entry(folder, True, facts)

    def build(self, key: str, make: Callable[[Path], dict[str, Any]], language: str) -> Entry:
        """The entry of `key`: found, or made by `make(folder)` in a temporary folder that is then renamed.

        `make` returns JSON facts and raises when the build fails: nothing is published then and the next asker tries again.
        Two askers of one key, threads or processes, build once: the second waits and finds.
        """
        found = self.find(key)
        if found is not None:
            return found
        with self._locked(key):
            found = self.find(key)
            if found is not None:
                return found
            temporary = self._temporary(key)
            try:
                start = time.monotonic()
                facts = make(temporary)
                seconds = round(time.monotonic() - start, 4)
                facts = {"seconds": seconds, **facts}
                (temporary / "entry.json").write_text(json.dumps(facts))
                folder = self.folder / "entries" / key
                shutil.rmtree(folder, ignore_errors=True)  # an entry without a readable entry.json
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
            self._log(
                {"key": key, "language": language, "seconds": seconds, "tier": facts.get("tier"), "pid": os.getpid(), "made": time.time()}
            )
        self.evict(keep=key)
        return Entry(folder, False, facts)

    def evict(self, keep: str | None = None) -> list[str]:
        """Remove the entries least recently used until the rest fits. Returns the keys that went."""
        entries = []
        for folder in (self.folder / "entries").iterdir():
            with contextlib.suppress(OSError):
                entries.append((folder.stat().st_mtime, _size_bytes(folder), folder))
        total = sum(size for _, size, _ in entries)
        gone = []
        for used, size, folder in sorted(entries):
            if total <= self.max_bytes:
                break
            if folder.name == keep or time.time() - used < self.keep_recent_s:
                continue
            trash = self.folder / "temporary" / f"evicted-{uuid.uuid4().hex}"
            with contextlib.suppress(OSError):
                folder.rename(trash)
                shutil.rmtree(trash, ignore_errors=True)
                total -= size
                gone.append(folder.name)
        return gone

    def log(self) -> list[dict[str, Any]]:
        """One row for each real build: key, language, seconds, tier, pid, made."""
        if not self.log_path.exists():
            return []
        return [json.loads(line) for line in self.log_path.read_text().splitlines() if line]

    def _temporary(self, key: str) -> Path:
        """A fresh folder for this key. Called under its lock, so what another left for the key is of a builder that died."""
        for left in (self.folder / "temporary").glob(f"{key}-*"):
            shutil.rmtree(left, ignore_errors=True)
        temporary = self.folder / "temporary" / f"{key}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        temporary.mkdir()
        return temporary

    def _log(self, row: dict[str, Any]) -> None:
        line = (json.dumps(row) + "\n").encode()
        descriptor = os.open(self.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)  # one write in append mode: rows of two processes never mix
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        path = self.folder / "locks" / f"{key}.lock"
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # the holder removes its lock file: a lock on a removed file locks nothing, so take the new one
            try:
                same = path.stat().st_ino == os.fstat(descriptor).st_ino
            except FileNotFoundError:
                same = False
            if same:
                break
            os.close(descriptor)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
