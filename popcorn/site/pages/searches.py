"""Searches: the list, and for each its best-so-far curve, lineage, archive and prompts."""

from collections.abc import Iterator
from typing import Any

from popcorn.site.gather import Gathered, digest
from popcorn.site.page import Page, simple
from popcorn.site.searches import Search, number
from popcorn.site.words import file_name

NODES = 2000
"""Candidates in the lineage chart; of longer searches the ancestors of elites come first."""

_SHOWN = ("id", "parents", "evaluation", "generation", "island", "operator", "outcome", "cell", "elite", "prompt", "record_id")


def pages(found: Gathered) -> Iterator[Page]:
    """The list, then one page a search."""
    runs = {row["id"]: row.get("run") for row in found.evaluations}
    listed = [about(one) for one in found.searches]
    yield simple("searches.html", "searches.html", digest(listed), searches=listed)
    for one in found.searches:
        yield _page(one, runs)


def about(one: Search) -> dict[str, Any]:
    """A search in the list."""
    curve = one.curve()
    last = curve[-1] if curve else {"best": None, "cost_usd": None}
    text = {name: str(one.about.get(name) or "")[:200] for name in ("problem", "model", "method", "started")}
    return {
        **text, "id": one.id, "file": f"searches/{file_name(one.id)}.html", "evaluations": len(one.candidates), "best": last["best"],
        "cost_usd": last["cost_usd"], "correct": sum(row["speedup"] is not None for row in curve), "prompts": len(one.prompts),
        "cells": len({tuple(cell) for row in one.candidates if isinstance(cell := row.get("cell"), list)}),
    }  # fmt: skip


def _page(one: Search, runs: dict[str, Any]) -> Page:
    path = f"searches/{file_name(one.id)}.html"
    line = one.lineage()
    nodes = [
        {**{name: row.get(name) for name in _SHOWN}, "speedup": number(row.get("speedup")), "line": row["id"] in line,
         "link": link(row.get("record_id"), runs)}
        for row in chosen(one, line)
    ]  # fmt: skip
    axes = [str(name)[:60] for name in one.about.get("axes", []) if isinstance(name, str)][:2]
    prompts = [
        {**row, "text": row["text"][:4000], "best": number(row.get("best")), "mean_score": number(row.get("mean_score"))}
        for row in one.prompts
    ]
    values = {
        "search": about(one), "curve": one.curve(), "nodes": nodes, "line": line, "axes": axes or ["axis 1", "axis 2"],
        "archive": archive(one), "prompts": prompts[:500], "left_out": len(one.candidates) - len(nodes),
    }  # fmt: skip
    return simple(path, "search.html", digest(one.stamp, values), **values)


def chosen(one: Search, line: list[str]) -> list[dict[str, Any]]:
    """Every candidate, or of a long search the line of the best, elites, and the newest."""
    if len(one.candidates) <= NODES:
        return one.candidates
    first = [row for row in one.candidates if row["id"] in line or row.get("elite")]
    rest = [row for row in one.candidates if row["id"] not in line and not row.get("elite")]
    kept = [*first[:NODES], *rest[-max(0, NODES - len(first)) :]] if len(first) < NODES else first[:NODES]
    return sorted(kept, key=lambda row: row["evaluation"])


def archive(one: Search) -> list[dict[str, Any]]:
    """Best candidate of each cell of the first two axes."""
    best: dict[tuple[int, int], dict[str, Any]] = {}
    for row in one.candidates:
        cell, speedup = row.get("cell"), number(row.get("speedup"))
        if (
            not isinstance(cell, list)
            or not all(isinstance(part, int) for part in cell)
            or not cell
            or row.get("outcome", "correct") != "correct"
        ):
            continue
        place = (cell[0], cell[1] if len(cell) > 1 else 0)
        if speedup is not None and speedup > best.get(place, {"speedup": 0.0})["speedup"]:
            best[place] = {"x": place[0], "y": place[1], "speedup": speedup, "id": row["id"], "tried": 0}
    for row in one.candidates:
        cell = row.get("cell")
        if isinstance(cell, list) and cell and (cell[0], cell[1] if len(cell) > 1 else 0) in best:
            best[cell[0], cell[1] if len(cell) > 1 else 0]["tried"] += 1
    return list(best.values())


def link(record_id: Any, runs: dict[str, Any]) -> str | None:
    """The page of a candidate's record."""
    if not isinstance(record_id, str) or record_id not in runs:
        return None
    return f"runs/{file_name(runs[record_id])}.html#result" if runs[record_id] else f"records/{file_name(record_id)}.html"
