"""The ledger of judgements: what was found out about a record after it was made. Append-only, with evidence. Free of torch.

A line says `suspected`, `cleared` or `condemned`; the latest one holds. Records themselves are never changed.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from popcorn.errors import BadRecord, UnwritableStore
from popcorn.records.appending import append_line
from popcorn.schema.case import Frozen

Word = Literal["suspected", "cleared", "condemned"]
FILE = "judgements.jsonl"


class Judgement(Frozen):
    """One line of the ledger."""

    record_id: str
    """The record spoken of: 16 hex digits."""
    word: Word
    """What is held of it from now on."""
    evidence: str
    """Why, for people: what was run, what was seen."""
    by: str
    """Who says so."""
    made: str
    """UTC, ISO 8601."""


class Ledger:
    """The judgements beside a store's records."""

    def __init__(self, folder: Path):
        self.path = Path(folder) / FILE

    def judge(self, record_id: str, word: Word, evidence: str, by: str = "a person") -> Judgement:
        """Add a judgement. It is on disk when this returns. Raises BadRecord without evidence, UnwritableStore."""
        if not evidence.strip():
            raise BadRecord("a judgement needs its evidence; say what was run and what was seen.")
        made = Judgement(
            record_id=record_id,
            word=word,
            evidence=evidence.strip()[:4000],
            by=by[:100],
            made=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append_line(self.path, made.model_dump_json().encode())
        except OSError as error:
            raise UnwritableStore(
                f"{self.path} cannot be written ({error.strerror}); set POPCORN_CACHE_DIR to a folder that can be."
            ) from error
        return made

    def history(self, record_id: str) -> list[Judgement]:
        """Every judgement on a record, oldest first."""
        return [one for one in self._read() if one.record_id == record_id]

    def standing(self, record_id: str) -> Judgement | None:
        """The judgement that holds; None where nobody said anything."""
        return self.standings().get(record_id)

    def standings(self) -> dict[str, Judgement]:
        """The judgement that holds for every record that has one, by id. Ledgers may be concatenated: the latest holds, not the last line."""
        return {one.record_id: one for one in sorted(self._read(), key=lambda one: one.made)}

    def counts(self, record_id: str) -> bool:
        """Whether a record may stand in a rank or a figure: not while it is condemned."""
        found = self.standing(record_id)
        return found is None or found.word != "condemned"

    def _read(self) -> list[Judgement]:
        """Every line that can be read; a torn or foreign one is left where it is."""
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_bytes().splitlines():
            try:
                found.append(Judgement.model_validate(json.loads(line)))
            except (ValueError, ValidationError, RecursionError):
                continue
        return found
