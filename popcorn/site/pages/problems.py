"""Problems: the list, and a page for each that anybody tried: its text, its bounds, its best kernels, every run."""

import functools
from collections.abc import Iterator
from typing import Any

from popcorn.site import code, words
from popcorn.site.embedding import columnar
from popcorn.site.gather import Gathered, Row, digest, domain_of, title_of
from popcorn.site.page import Files, Page, show, simple
from popcorn.site.pages.shared import EVALUATION_COLUMNS, evaluation_row, run_row

LISTED = 3000
"""Evaluations that a problem's page lists; older ones are in the list of all."""


def pages(found: Gathered) -> Iterator[Page]:
    """The list, then one page a problem."""
    by_problem: dict[str, list[Row]] = {}
    for row in found.evaluations:
        by_problem.setdefault(row["problem"], []).append(row)
    runs: dict[str, list[dict[str, Any]]] = {}
    for one in found.runs:
        runs.setdefault(one.run.problem, []).append(run_row(one))
        by_problem.setdefault(one.run.problem, [])
    listed = [problem_row(problem, rows, found, len(runs.get(problem, ()))) for problem, rows in sorted(by_problem.items())]
    yield simple("problems.html", "problems.html", digest(listed), problems=listed)
    for about, rows in zip(listed, (by_problem[row["problem"]] for row in listed), strict=True):
        yield _page(about, rows, runs.get(about["problem"], []), found)


def problem_row(problem: str, rows: list[Row], found: Gathered, runs: int) -> dict[str, Any]:
    """A problem in the list."""
    reference = (found.references.get(problem) or {}).get("reference")
    variant, level = words.place_of(problem)
    good = [row for row in rows if counts(row)]
    best = max(good, key=lambda row: row["speedup"] or 0.0, default=None)
    return {
        "problem": problem, "file": f"problems/{words.file_name(problem)}.html", "title": title_of(problem, reference), "variant": variant,
        "level": level or None, "domain": domain_of(reference), "evaluations": len(rows), "runs": runs, "correct": len(good),
        "speedup": best and best["speedup"], "speedup_low": best and best["speedup_low"], "speedup_high": best and best["speedup_high"],
    }  # fmt: skip


def counts(row: Row) -> bool:
    """Correct, and not condemned since."""
    return row["outcome"] == "correct" and row["judgement"] != "condemned"


def _page(about: dict[str, Any], rows: list[Row], runs: list[dict[str, Any]], found: Gathered) -> Page:
    reference = found.references.get(about["problem"]) or {}
    best = sorted((row for row in rows if counts(row) and row["speedup"]), key=lambda row: -row["speedup"])[:8]
    values = {
        "about": about, "best": [evaluation_row(row) for row in best], "hash": reference.get("problem_hash"),
        "rows": columnar([evaluation_row(row) for row in rows[:LISTED]], EVALUATION_COLUMNS), "older": max(0, len(rows) - LISTED), "runs": len(runs),
        "hashes": len({row["problem_hash"] for row in rows}),
    }  # fmt: skip
    text = reference.get("reference") or ""
    seen = digest(values, text, [(row["id"], row["judgement"]) for row in rows])
    return Page(about["file"], seen, functools.partial(_render, about["file"], values, text))


def _render(path: str, values: dict[str, Any], text: str) -> Files:
    return {path: show("problem.html", path, reference=code.numbered(text) if text else [], reference_text=text, **values)}
