"""Tables of a TOML file as named rows: models.toml and tiers.toml, those that ship and a user's own."""

import functools
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from popcorn.errors import BadAgent
from popcorn.reading import read_toml, what_is_wrong
from popcorn.schema.case import Frozen

R = TypeVar("R", bound=Frozen)


def read_rows(path: Path, row: type[R], what: str) -> dict[str, R]:
    """Name → row, one for each table. Raises BadAgent that names the file, the table and the key. `what`: models or tiers."""
    facts = path.stat() if path.is_file() else None
    return dict(_rows(path, (facts.st_mtime_ns, facts.st_size) if facts else None, row, what))


@functools.lru_cache(maxsize=64)
def _rows(path: Path, _as_it_was: tuple[int, int] | None, row: type[R], what: str) -> dict[str, R]:
    """Read once as long as the file stays as it is: a plan asks for every model and tier of a sweep by name."""
    shipped = f"{what}.toml"
    tables = read_toml(
        path, lambda why: BadAgent(f"{path} cannot be read as {what} ({why}); expected a table a {what[:-1]}, as in {shipped}.")
    )
    made = {}
    for name, values in tables.items():
        if not isinstance(values, dict) or "name" in values:
            raise BadAgent(f"{path}: {name[:60]} is no table of a {what[:-1]}; expected [{name[:60]}] and lines below it, as in {shipped}.")
        try:
            made[name] = row.model_validate({"name": name, **values})
        except ValidationError as error:
            raise BadAgent(f"{path}: [{name[:60]}]: {what_is_wrong(error, row, without=('name',))}; see {shipped}.") from None
    return made
