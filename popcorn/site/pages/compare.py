"""Compare: two runs, two models, two stores, side by side in the page itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from popcorn.records.tables import KEY, Tables
from popcorn.site.gather import Gathered, digest
from popcorn.site.page import Page, simple
from popcorn.site.pages.shared import link_of

LISTED = 4000
"""Differences of two stores that the page lists."""

_ANSWERS = f"""SELECT id, kind, {", ".join(KEY[1:])}, problem, name, outcome, time_s, low_s, high_s FROM counted"""


def pages(found: Gathered, tables: Mapping[str, Tables]) -> Iterator[Page]:
    """`compare.html`."""
    stores = list(tables)
    links = {row["id"]: link_of(row) for row in found.evaluations}
    pairs: list[dict[str, Any]] = []
    for place, before in enumerate(stores):
        for after in stores[place + 1 :]:
            rows = differences(tables[before], tables[after], links)
            if rows:
                pairs.append({"before": before, "after": after, "rows": rows[:LISTED], "left_out": max(0, len(rows) - LISTED)})
    models = sorted({(one.model, one.tier) for one in found.attempts})
    values = {
        "runs": len(found.runs),
        "models": [{"model": model, "tier": tier} for model, tier in models],
        "pairs": pairs,
        "stores": stores,
    }
    yield simple("compare.html", "compare.html", digest(values, links.values()), **values)


def differences(before: Tables, after: Tables, links: Mapping[str, str]) -> list[dict[str, Any]]:
    """Questions that both stores answer, largest change of time first. `links`: the page of each record that has one. `apart` says that the 95 % intervals do not meet; only then is a change
    of time more than chance. `ratio` is the time after over the time before."""
    old, new = ({tuple(row[name] for name in KEY): row for row in one.ask(_ANSWERS).dicts()} for one in (before, after))
    found = []
    for key in old.keys() & new.keys():
        a, b = old[key], new[key]
        timed = a["time_s"] is not None and b["time_s"] is not None
        found.append({
            "problem": a["problem"], "implementation": a["name"] or a["implementation"], "case": a["case_id"], "device": a["machine_device_id"],
            "before": a["outcome"], "after": b["outcome"], "before_s": a["time_s"], "after_s": b["time_s"],
            "ratio": b["time_s"] / a["time_s"] if timed else None, "apart": timed and (b["low_s"] > a["high_s"] or b["high_s"] < a["low_s"]),
            "link": links.get(b["id"]),
        })  # fmt: skip
    return sorted(
        found,
        key=lambda row: (row["before"] == row["after"], not row["apart"], -abs((row["ratio"] or 1.0) - 1), row["problem"], row["case"]),
    )
