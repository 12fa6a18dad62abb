"""Files that several pages load: styles, scripts, the chart library once a site, the rows of runs and evaluations."""

import functools
from collections.abc import Iterator
from typing import Any

from popcorn.site.code import style
from popcorn.site.embedding import columnar, deliver
from popcorn.site.gather import Gathered, Row, RunRow, digest
from popcorn.site.page import HERE, Files, Page, edition, simple
from popcorn.site.words import file_name, place_of

PIECE = 4000
"""Rows in one file of data: what a page loads before anybody asks for more."""

RUN_COLUMNS = (
    "id", "file", "problem", "variant", "level", "model", "tier", "language", "mode", "outcome", "speedup", "speedup_low", "speedup_high",
    "time_s", "sol", "energy_ratio", "turns", "tokens", "cost_usd", "wall_s", "started", "optimal", "fit", "submitted_by", "store",
)  # fmt: skip
EVALUATION_COLUMNS = (
    "id", "link", "problem", "name", "language", "case_id", "device", "outcome", "judgement", "speedup", "speedup_low", "speedup_high",
    "speedup_compiled", "speedup_compiled_low", "speedup_compiled_high", "time_s", "baseline_time_s", "sol", "energy_ratio", "memory_ratio", "fit", "made", "store",
)  # fmt: skip


def pages(found: Gathered) -> Iterator[Page]:
    """Static files, then data."""
    yield Page("static/page.css", "", _styles)
    for path in sorted((HERE / "static").glob("*.js")):
        yield Page(f"static/{path.name}", "", functools.partial(_script, path.name))
    yield simple("404.html", "404.html", edition())
    yield Page("static/vega.js", "bundle", _vega)
    rows = [run_row(one) for one in found.runs]
    yield _data("runs", rows, RUN_COLUMNS)
    listed = [evaluation_row(row) for row in found.evaluations]
    for number in range(max(1, -(-len(listed) // PIECE))):
        yield _data(f"evaluations-{number}", listed[number * PIECE : (number + 1) * PIECE], EVALUATION_COLUMNS)


def run_row(one: RunRow) -> dict[str, Any]:
    """A run in a table or a chart."""
    run, row = one.run, one.record or {}
    variant, level = place_of(run.problem)
    good = one.mode == "correct"
    figures = {
        name: row.get(name) if good else None for name in ("speedup", "speedup_low", "speedup_high", "time_s", "sol", "energy_ratio")
    }
    return {
        "id": run.id, "file": f"runs/{file_name(run.id)}.html", "problem": run.problem, "variant": variant, "level": level, "model": run.model,
        "tier": run.tier, "language": run.language, "mode": one.mode or "at work", "outcome": row.get("outcome"), "turns": one.turns,
        "tokens": run.tokens.total, "cost_usd": run.cost_usd, "wall_s": run.wall_s, "started": run.started, "optimal": one.optimal,
        "submitted_by": run.submitted_by, "fit": row.get("control_fit") if good else None, "store": one.store, **figures,
    }  # fmt: skip


def evaluation_row(row: Row) -> dict[str, Any]:
    """A record in a table."""
    return {**row, "link": link_of(row), "device": row["machine_device_id"], "fit": row["control_fit"]}


def link_of(row: Row) -> str:
    """The page that shows a record: its run's, or its own."""
    return f"runs/{file_name(row['run'])}.html#result" if row.get("run") else f"records/{file_name(row['id'])}.html"


def _data(name: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Page:
    text = deliver(name, columnar(rows, columns))
    return Page(f"data/{name}.js", digest(text), functools.partial(_text, f"data/{name}.js", text))


def _text(path: str, text: str) -> Files:
    return {path: text}


def _styles() -> Files:
    return {"static/page.css": (HERE / "static" / "page.css").read_text(encoding="utf-8") + style()}


def _script(name: str) -> Files:
    return {f"static/{name}": (HERE / "static" / name).read_text(encoding="utf-8")}


@functools.cache
def _vega() -> Files:
    """Vega, Vega-Lite and Vega-Embed as one script, as vl-convert ships them; it puts them together in seconds."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its types ask for a snippet that it does not need
    return {"static/vega.js": f"(() => {{\n{bundle()}\n}})();\n"}


def stamp() -> str:
    """For pages that change with the code alone."""
    return edition()
