"""The first page: what is proven fastest, models × tiers for each (variant, level), the Pareto front, the newest results."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from popcorn.scoring import MODES, Standing
from popcorn.site.gather import Gathered, digest
from popcorn.site.page import Page, simple
from popcorn.site.pages.shared import evaluation_row, link_of
from popcorn.site.words import file_name

NEWEST = 8
SHOWN = 7
"""Proven kernels at the head of the page."""


def pages(found: Gathered) -> Iterator[Page]:
    """`index.html`."""
    groups = sorted({(one.variant, one.level) for one in found.standings}, key=lambda pair: (pair[0] == "other", pair[1], pair[0]))
    rows = [standing_row(one) for one in found.standings]
    newest = [{**row, "link": link_of(row)} for row in found.evaluations[:NEWEST]]
    values: dict[str, Any] = {
        "groups": [{"key": f"{variant}/{level}", "label": f"L{level} {variant}" if level else "other files"} for variant, level in groups],
        "standings": rows,
        "board_devices": sorted({one.record["machine_device_name"] for one in found.runs if one.record and one.record["machine_device_name"]}),
        "modes": MODES,
        "newest": newest,
        "proven": proven(found),
        "counts": {
            "runs": len(found.runs), "evaluations": len(found.evaluations), "correct": sum(row["outcome"] == "correct" for row in found.evaluations),
            "problems": len({row["problem"] for row in found.evaluations}), "ops": len(found.ops),
            "cases": sum(row["cases"] for row in found.ops.values()),
            "devices": sorted({row["machine_device_name"] for row in found.evaluations if row["machine_device_name"]}.union(*(row["device_names"] for row in found.ops.values()))),
        },
        "ops": [{**row, "best": found.proven.get(row["problem"])} for row in found.ops.values()][:12],
        "searches": len(found.searches),
    }  # fmt: skip
    yield simple("index.html", "leaderboard.html", digest(values, [one.run.id for one in found.runs]), **values)


def proven(found: Gathered) -> dict[str, Any] | None:
    """The fastest kernel of each problem and op that the run's controls and its whole interval prove faster than eager; the first of them with
    an axis from 1× up. None where nothing is proven."""
    best: dict[str, dict[str, Any]] = {
        op: {**row, "link": f"ops/{file_name(op)}.html", "kind": "library"} for op, row in found.proven.items()
    }
    for row in found.evaluations:
        good = row["outcome"] == "correct" and row["judgement"] != "condemned" and row["control_fit"] and (row["speedup_low"] or 0.0) > 1
        if good and row["speedup"] > best.get(row["problem"], {"speedup": 0.0})["speedup"]:
            best[row["problem"]] = {**evaluation_row(row), "kind": row["language"]}
    rows = sorted(best.values(), key=lambda row: (-row["speedup"], row["problem"]))[:SHOWN]
    if not rows:
        return None
    top = max(2.0, max(row["speedup_high"] for row in rows))
    doublings = math.log2(top)
    step = max(1, math.ceil(doublings / 4))
    ticks = [{"at": 100 * n / doublings, "text": f"{2**n:,}×"} for n in range(0, math.floor(doublings) + 1, step)]
    for row in rows:
        row["bar"] = {
            name: round(100 * math.log2(row[f"speedup{end}"]) / doublings, 2)
            for name, end in (("low", "_low"), ("value", ""), ("high", "_high"))
        }
    return {"rows": rows, "ticks": ticks, "of": len(best), "devices": sorted({row["machine_device_name"] or row["device"] for row in rows})}


def standing_row(one: Standing) -> dict[str, Any]:
    """A standing as the table shows it."""
    row = {item.name: getattr(one, item.name) for item in dataclasses.fields(one) if item.name != "speedup"}
    return {
        **row, "group": f"{one.variant}/{one.level}", "geomean_correct": one.speedup.correct_only, "geomean_all": one.speedup.failures_as_1,
        "timed": one.speedup.timed, "correct": one.modes["correct"],
    }  # fmt: skip
