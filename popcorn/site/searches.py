"""Searches as the pages read them: three optional files a search, documented in docs/site.md. Unknown fields are left alone.

<folder>/<search id>/search.json        one object: problem, model, method, started, baseline_time_s, axes
<folder>/<search id>/candidates.jsonl   one object a candidate, in the order evaluated
<folder>/<search id>/prompts.jsonl      one object a prompt of the meta-prompt evolution
"""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.records.runs import read_lines


@dataclass(frozen=True)
class Search:
    """One search."""

    id: str
    about: dict[str, Any]
    candidates: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    stamp: str = ""

    def curve(self) -> list[dict[str, Any]]:
        """Best so far after each evaluation: evaluation, cost_usd, best, id of the best. Until one is correct, best is None."""
        best, holder, rows = None, None, []
        for one in self.candidates:
            speedup = number(one.get("speedup")) if one.get("outcome", "correct") == "correct" else None
            if speedup is not None and (best is None or speedup > best):
                best, holder = speedup, one["id"]
            rows.append(
                {"evaluation": one["evaluation"], "cost_usd": number(one.get("cost_usd")), "best": best, "id": holder, "speedup": speedup}
            )
        return rows

    def lineage(self) -> list[str]:
        """Ids from the best candidate up to its first ancestor, along first parents."""
        known = {one["id"]: one for one in self.candidates}
        best = next((row["id"] for row in reversed(self.curve()) if row["id"] is not None), None)
        found: list[str] = []
        while best is not None and best not in found and best in known:
            found.append(best)
            parents = known[best]["parents"]
            best = parents[0] if parents else None
        return found


def read_searches(folder: Path, warnings: list[str]) -> list[Search]:
    """Every search below a folder, newest first."""
    found = []
    for path in sorted(folder.glob("*/candidates.jsonl")):
        about: dict[str, Any] = {}
        try:
            given = json.loads((path.parent / "search.json").read_text(encoding="utf-8"))
            about = given if isinstance(given, dict) else {}
        except (OSError, ValueError):
            warnings.append(f"{path.parent / 'search.json'}: not a JSON object; the search is shown without it.")
        prompts = path.with_name("prompts.jsonl")
        stamp = "/".join(str(one.stat().st_size) for one in (path, prompts) if one.exists())
        candidates = [_candidate(row, order) for order, row in enumerate(read_lines(path, warnings), 1)]
        found.append(Search(path.parent.name, about, candidates, [_prompt(row) for row in read_lines(prompts, warnings)], stamp))
    return sorted(found, key=lambda one: str(one.about.get("started", "")), reverse=True)


def number(value: Any) -> float | None:
    """A finite number, else None."""
    fit = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fit else None


def _candidate(row: dict[str, Any], order: int) -> dict[str, Any]:
    parents = row.get("parents")
    place = row.get("evaluation")
    return {
        **row, "id": str(row.get("id", order)), "evaluation": place if isinstance(place, int) else order,
        "parents": [str(one) for one in parents] if isinstance(parents, list) else [],
    }  # fmt: skip


def _prompt(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "id": str(row.get("id", "")), "text": str(row.get("text", ""))}
