"""Old lines, read for ever: an ordered list of functions, old dict → new dict, that only grows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from popcorn.errors import BadRecord
from popcorn.schema.record import SCHEMA_VERSION, Record

Migration = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: tuple[Migration, ...] = ()
"""Entry k turns a line of version k + 1 into one of version k + 2. Append only; a change of the schema adds one here, a higher
SCHEMA_VERSION, and a golden line of the version left behind under tests/golden/."""


def migrate(line: Mapping[str, Any], migrations: Sequence[Migration] = MIGRATIONS, newest: int = SCHEMA_VERSION) -> dict[str, Any]:
    """The line as the newest version writes it. Raises BadRecord: no version, a version of the future, one that no function takes up."""
    version = line.get("schema_version")
    if type(version) is not int or version < 1:
        raise BadRecord(f"a record without a usable schema_version ({str(version)[:40]!r}); expected a whole number from 1 to {newest}.")
    if version > newest:
        raise BadRecord(f"a record of schema version {version}; this Popcorn reads up to {newest}: run pip install -U popcornbench.")
    current = dict(line)
    for step in range(version, newest):
        if step > len(migrations):
            raise BadRecord(f"a record of schema version {version}; no migration leads from {step} to {step + 1}.")
        current = {**migrations[step - 1](current), "schema_version": step + 1}
    return current


def read_record(line: Mapping[str, Any]) -> Record:
    """A parsed JSON line of any version as a Record. Raises BadRecord that names the first field that does not fit."""
    current = migrate(line)
    try:
        return Record.model_validate(current)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the record"
        raise BadRecord(f"a record that breaks the schema at {where[:120]}: {first['msg'][:200]}.") from None
