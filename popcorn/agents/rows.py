"""Tables of a TOML file as named rows: models.toml and tiers.toml, those that ship and a user's own."""

import difflib
import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from popcorn.errors import BadAgent
from popcorn.schema.case import Frozen

R = TypeVar("R", bound=Frozen)


def read_rows(path: Path, row: type[R], what: str) -> dict[str, R]:
    """Name → row, one for each table. Raises BadAgent that names the file, the table and the key. `what`: models or tiers."""
    shipped = f"{what}.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadAgent(f"{path} cannot be read as {what} ({error}); expected a table a {what[:-1]}, as in {shipped}.") from None
    made = {}
    for name, values in tables.items():
        if not isinstance(values, dict) or "name" in values:
            raise BadAgent(f"{path}: {name[:60]} is no table of a {what[:-1]}; expected [{name[:60]}] and lines below it, as in {shipped}.")
        try:
            made[name] = row.model_validate({"name": name, **values})
        except ValidationError as error:
            raise BadAgent(f"{path}: [{name[:60]}] {_said(error, row)}; see {shipped}.") from None
    return made


def _said(error: ValidationError, row: type[Frozen]) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = [name for name in row.model_fields if name != "name"]
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.0)
        return f"has no key {key!r}; the nearest is {near[0]!r} of {', '.join(known)}"
    return f"lacks {key!r}" if first["type"] == "missing" else f"{key}: {first['msg']}"
