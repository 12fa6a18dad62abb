"""Data inside pages: JSON that no browser can mistake for markup, and scripts that pages opened as files may load."""

import json
import math
from typing import Any


def embed(value: Any) -> str:
    """`value` as JSON for a script element: no `<`, `>`, `&`, no line separators, and NaN or infinity as null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        text = text.replace(character, escaped)
    # a lone surrogate cannot be written as UTF-8
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def deliver(name: str, value: Any) -> str:
    """A script file that hands `value` to the page under `name`: pages opened from a disk may load scripts, but fetch nothing."""
    return f"popcorn.deliver({embed(name)},{embed(value)});\n"


def finite(value: Any) -> Any:
    """The same with None for NaN and infinity, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return value


def columnar(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Rows as columns; a column of few different texts as indices into them. A tenth of the bytes of a list of objects."""
    made: dict[str, Any] = {"rows": len(rows)}
    for name in names:
        values = [row.get(name) for row in rows]
        texts = dict.fromkeys(value for value in values if isinstance(value, str))
        if texts and len(texts) <= max(8, len(rows) // 4) and all(value is None or isinstance(value, str) for value in values):
            places = {text: place for place, text in enumerate(texts)}
            made[name] = {"of": list(texts), "at": [None if value is None else places[value] for value in values]}
        else:
            made[name] = [_short(value) for value in values]
    return made


def _short(value: Any) -> Any:
    """Six significant digits are more than any instrument here has."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
