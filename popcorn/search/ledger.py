"""The ledger: every effect of a search, appended once, in SQLite. All else is replayed from it.

A search is a function of its plan and of what its effects answered: a proposal, a judgement, a vote. Each effect has a key; its answer
is on disk before anybody acts on it. To go on after a kill, the search runs again from its first step, and effects whose answer is here
are not carried out again. So whatever lives in memory (archive, bandit, prompts, random generators) is as it would have been. At most
the effects under way are lost, and nothing is paid for twice.
"""

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from popcorn.errors import BadSearch

FILE = "search.sqlite3"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS effects (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, asked TEXT NOT NULL, body TEXT NOT NULL, seconds REAL NOT NULL, at TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON effects BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON effects BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""


class Ledger:
    """The effects of one search. Safe for threads; one process writes at a time."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / FILE
        self._lock = threading.Lock()
        self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_SCHEMA)
        self._known = {
            key: (asked, json.loads(body)) for key, asked, body in self._db.execute("SELECT key, asked, body FROM effects ORDER BY seq")
        }
        self.replayed = 0
        """Effects that were read back instead of carried out."""

    def once(self, key: str, asked: Any, make: Callable[[], Any]) -> Any:
        """The answer of this effect: read back, or made now and on disk when this returns. `asked` is what was asked, as JSON data.

        Raises BadSearch when the ledger holds this key for another question: plan, proposer or code are not those that began it.
        """
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        with self._lock:
            found = self._known.get(key)
        if found is not None:
            if found[0] != digest:
                raise BadSearch(
                    f"{self.path}: step {key!r} was asked something else when this search began; go on with the plan, seeds and version "
                    "that began it, or start anew with --fresh."
                )
            self.replayed += 1
            return found[1]
        began = time.monotonic()
        body = json.dumps(make())
        with self._lock:
            self._db.execute(
                "INSERT INTO effects (key, asked, body, seconds, at) VALUES (?, ?, ?, ?, ?)",
                (key, digest, body, time.monotonic() - began, datetime.now(UTC).isoformat(timespec="milliseconds")),
            )
            self._known[key] = (digest, answer := json.loads(body))
        return answer

    def holds(self, key: str) -> bool:
        """Whether this effect has its answer."""
        return key in self._known

    def rows(self) -> Iterator[tuple[str, Any, float, str]]:
        """(key, answer, seconds, when) of every effect, in order."""
        with self._lock:
            found = self._db.execute("SELECT key, body, seconds, at FROM effects ORDER BY seq").fetchall()
        for key, body, seconds, at in found:
            yield key, json.loads(body), seconds, at

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
