"""Ops of the library: the list, and the kernel explorer of each. Rows lie in one file for each device, element type and gradient mode."""

import functools
from collections.abc import Iterator
from typing import Any

from popcorn.records.tables import Tables
from popcorn.site import words
from popcorn.site.embedding import columnar, deliver
from popcorn.site.gather import OPS, Gathered, Row, digest
from popcorn.site.live import ROW_COLUMNS, row_of_table
from popcorn.site.page import Files, Page, show, simple

PIECE = 4000
"""Rows in one file."""


def pages(found: Gathered, tables: dict[str, Tables]) -> Iterator[Page]:
    """The list, then one explorer an op."""
    listed = [
        {**row, "file": f"ops/{words.file_name(row['problem'])}.html", "best": found.proven.get(row["problem"])}
        for row in found.ops.values()
    ]
    yield simple("ops.html", "ops.html", digest(listed), ops=listed)
    for row in listed:
        yield from _explorer(row, tables)


def _explorer(about: dict[str, Any], tables: dict[str, Tables]) -> Iterator[Page]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for store, asked in tables.items():
        for row in asked.ask(OPS, [about["problem"]]).dicts():
            shown = row_of_table(row, store)
            groups.setdefault((shown["device"], shown["precision"], shown["gradient"]), []).append(shown)
    stem = about["file"].removesuffix(".html")
    pieces = []
    for key, rows in sorted(groups.items(), key=lambda pair: (pair[0][0].startswith("cpu"), pair[0][2] != "none", -len(pair[1]), pair[0])):
        dims = list(dict.fromkeys(name for row in rows for name in row["dims"]))
        for start in range(0, len(rows), PIECE):
            part = [{**row, **{f"dim_{name}": row["dims"].get(name) for name in dims}} for row in rows[start : start + PIECE]]
            name = f"{words.file_name('-'.join(key))}-{start // PIECE}"
            text = deliver(name, columnar(part, (*ROW_COLUMNS, *(f"dim_{dim}" for dim in dims))))
            yield Page(f"{stem}/{name}.js", digest(text), functools.partial(_text, f"{stem}/{name}.js", text))
            device, precision, gradient = key
            pieces.append({"name": name, "device": device, "precision": precision, "gradient": gradient, "rows": len(part), "dims": dims})
    values = {"about": about, "pieces": pieces, "stem": stem.rpartition("/")[2]}
    yield Page(about["file"], digest(values), functools.partial(_render, about["file"], values))


def _text(path: str, text: str) -> Files:
    return {path: text}


def _render(path: str, values: dict[str, Any]) -> Files:
    return {path: show("op.html", path, **values)}
