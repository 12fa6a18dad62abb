"""What `popcorn search` shows: a line a program, the finding, the list of searches."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.cli.plain import plain
from popcorn.search.finding import Finding
from popcorn.search.fitness import speedup_of
from popcorn.search.program import Program
from popcorn.search.progress import Progress
from popcorn.search.winners import kernel_file, searches_folder
from popcorn.units import UNKNOWN, show_percent, show_ratio


def teller(quiet: bool = False) -> Callable[[Progress, Program | None], None]:
    """Prints a line for each program as it is learned; nothing when quiet."""

    def tell(progress: Progress, program: Program | None) -> None:
        if quiet or program is None:
            return
        best = progress.population.best
        speed = show_ratio(speedup_of(program)) if program.outcome == "correct" else plain(program.measures[-1].reason or "", 40)
        so_far = show_ratio(speedup_of(best)) if best else "—"
        print(
            f"{progress.finished:4}/{progress.plan.evaluations} {program.id:12} {plain(program.proposal.operator, 16):16} "
            f"{program.outcome:14} {speed:40.40} best {so_far}",
            flush=True,
        )

    return tell


def show_finding(finding: Finding, identity: str, quiet: bool = False) -> dict[str, Any]:
    """Print what was found, and give it as data."""
    best, state = finding.best, finding.progress
    data = {
        "search": identity, "problem": state.plan.problem, "strategy": state.plan.strategy, "evaluations": finding.evaluations,
        "ended": finding.ended, "best": best.id if best else None, "speedup": finding.speedup, "coverage": finding.coverage,
        "cost_usd": finding.cost_usd, "device_s": finding.device_s, "luck_log": finding.regressed, "replayed": finding.replayed,
        "folder": str(searches_folder() / identity),
    }  # fmt: skip
    if quiet:
        return data
    cost = "unknown" if finding.cost_usd is None else f"${finding.cost_usd:.2f}"
    print(f"\n{state.plan.problem} · {state.plan.strategy} · {finding.evaluations} evaluations · ended by {finding.ended}")
    if best is None:
        print("no correct kernel was found; the reasons stand above")
        return data
    times = len(best.measures)
    print(f"best        {best.id}: {show_ratio(finding.speedup)} the reference, pooled over {times} measurement{'' if times == 1 else 's'}")
    if finding.regressed is not None:
        print(
            f"luck        measured again on fresh seeds it is {show_ratio(math.exp(-finding.regressed))} as fast as the search had seen it"
        )
    print(f"archive     {len(state.population.cells())} cells, {show_percent(finding.coverage)} of those that can be reached")
    print(f"spent       {cost}, {finding.device_s:.0f} s on the device; {finding.replayed} answers read back")
    kernel = searches_folder() / identity / kernel_file(state.plan.language)
    print(f"kernel      {kernel}")
    faster = (finding.speedup or 0.0) > 1
    print(
        f"next        popcorn adopt {identity}"
        if faster
        else f"next        it is slower than the reference: search on, or popcorn eval {state.plan.problem} {kernel}"
    )
    return data


def listed() -> list[dict[str, Any]]:
    """A row a search, newest first."""
    rows = []
    for path in searches_folder().glob("*/search.json"):
        about, best = _object(path), _object(path.with_name("best.json"))
        facts = {key: about.get(key) for key in ("started", "method", "evaluations")}
        rows.append({"id": path.parent.name, **facts, "speedup": best.get("speedup")})
    return sorted(rows, reverse=True, key=lambda row: (str(row["started"] or ""), row["id"]))


def _object(path: Path) -> dict[str, Any]:
    """Of a file that is not there, or torn, nothing is known."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def show_listed(rows: list[dict[str, Any]]) -> None:
    """A line a search."""
    if not rows:
        print("no searches yet: popcorn search PROBLEM --seed-file KERNEL", file=sys.stderr)
    for row in rows:
        print(
            f"{plain(row['id'], 50):50} {plain(str(row['method'] or UNKNOWN), 11):11} {row['evaluations'] or 0:5} evaluations  best {show_ratio(row['speedup'])}"
        )
