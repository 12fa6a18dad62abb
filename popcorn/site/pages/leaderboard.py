"""The first page: models × tiers for each (variant, level), the Pareto front, the newest results."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from popcorn.scoring import MODES, Standing
from popcorn.site.gather import Gathered, digest
from popcorn.site.page import Page, simple
from popcorn.site.pages.shared import link_of

NEWEST = 8


def pages(found: Gathered) -> Iterator[Page]:
    """`index.html`."""
    groups = sorted({(one.variant, one.level) for one in found.standings}, key=lambda pair: (pair[0] == "other", pair[1], pair[0]))
    rows = [standing_row(one) for one in found.standings]
    newest = [{**row, "link": link_of(row)} for row in found.evaluations[:NEWEST]]
    values: dict[str, Any] = {
        "groups": [{"key": f"{variant}/{level}", "label": f"L{level} {variant}" if level else "other files"} for variant, level in groups],
        "standings": rows,
        "modes": MODES,
        "newest": newest,
        "counts": {
            "runs": len(found.runs), "evaluations": len(found.evaluations), "correct": sum(row["outcome"] == "correct" for row in found.evaluations),
            "problems": len({row["problem"] for row in found.evaluations}), "ops": len(found.ops),
            "cases": sum(row["cases"] for row in found.ops.values()),
            "devices": sorted({row["machine_device_name"] for row in found.evaluations if row["machine_device_name"]}),
        },
        "ops": list(found.ops.values())[:12],
        "searches": len(found.searches),
    }  # fmt: skip
    yield simple("index.html", "leaderboard.html", digest(values, [one.run.id for one in found.runs]), **values)


def standing_row(one: Standing) -> dict[str, Any]:
    """A standing as the table shows it."""
    row = {item.name: getattr(one, item.name) for item in dataclasses.fields(one) if item.name != "speedup"}
    return {
        **row, "group": f"{one.variant}/{one.level}", "geomean_correct": one.speedup.correct_only, "geomean_all": one.speedup.failures_as_1,
        "timed": one.speedup.timed, "correct": one.modes["correct"],
    }  # fmt: skip
