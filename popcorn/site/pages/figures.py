"""The figures: one page with all of them, and beside it each as SVG, PNG, Vega-Lite and the table behind it."""

import functools
import json
from collections.abc import Iterator
from typing import Any

from popcorn.site.embedding import deliver, finite
from popcorn.site.figures import every_figure
from popcorn.site.figures.figure import Figure, Rows, to_csv, to_png, to_svg
from popcorn.site.gather import Gathered, digest
from popcorn.site.page import Files, Page, simple


def pages(found: Gathered) -> Iterator[Page]:
    """The page, and a page of files for each figure that has data."""
    shown: list[dict[str, Any]] = []
    for figure in every_figure():
        rows = finite(figure.rows(found.attempts))
        about = {"number": figure.number, "name": figure.name, "title": figure.title, "caption": figure.caption, "fills": figure.fills,
                 "rows": len(rows), "stem": stem_of(figure), "problems": len({row["problem"] for row in rows if "problem" in row})}  # fmt: skip
        shown.append(about)
        if rows:
            yield Page(f"{stem_of(figure)}.js", digest(rows), functools.partial(_files, figure.number, rows))
    yield simple("figures.html", "figures.html", digest(shown), figures=shown)


def stem_of(figure: Figure) -> str:
    """`figures/01-pareto_speedup_sol`."""
    return f"figures/{figure.number:02d}-{figure.name}"


def _files(number: int, rows: Rows) -> Files:
    figure = next(one for one in every_figure() if one.number == number)
    paper = figure.paper(rows)
    stem = stem_of(figure)
    return {
        f"{stem}.js": deliver(f"figure-{figure.number}", figure.spec(rows)), f"{stem}.svg": to_svg(paper), f"{stem}.png": to_png(paper),
        f"{stem}.csv": to_csv(rows), f"{stem}.vl.json": json.dumps(paper, indent=1),
    }  # fmt: skip
