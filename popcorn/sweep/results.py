"""What a sweep found, scored as everywhere else, as rows for a table in a paper. Imports no torch.

Denominators are fixed: every planned problem counts. What a provider or a fault of ours broke off, or what is missing, has no result and is told apart.
A condemned kernel is no correct one; a speedup whose controls failed is none.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from popcorn.records.store import Store
from popcorn.records.tables import query
from popcorn.scoring import Attempt, Standing, mode_of, standings
from popcorn.suites.problems import Problem
from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.jobs import problems_of
from popcorn.sweep.plan import Plan, make_plan

_RECORDS = (
    "SELECT id, outcome, judgement, speedup, speedup_low, control_fit, energy_ratio, roofline_sol_model, machine_device_id FROM records"
)
Row = dict[str, str | int | float | None]


def results(folder: SweepFolder, earlier: bool = False) -> tuple[Plan, list[Attempt], list[Standing]]:
    """The plan as it stands, an attempt for each job that has ended, and the standing of every model and tier in each (variant, level). `earlier`: a
    missing job counts as it ended when it was asked in another form (`Plan.before`)."""
    spec = folder.spec()
    plan = make_plan(spec.matrix, Done(Path(spec.cache)))
    places = {one.id: (_suite(one), one.level or 0) for one in problems_of(spec.matrix)}
    rows = {row["id"]: row for row in query(_RECORDS, Store(Path(spec.cache) / "records")).dicts()} if plan.known.done else {}
    before = plan.before if earlier else {}
    missing = {job.id for job in plan.missing}
    found = []
    for job in plan.jobs:
        line = plan.known.done.get(job.id) or before.get(job.id)
        if line is None and job.id in missing:
            continue
        row = rows.get(_record_of(line, Path(spec.cache)) or "") if line else None
        good = row is not None and row["outcome"] == "correct" and row["judgement"] != "condemned"
        fit = row is not None and good and row["control_fit"] is not False
        found.append(
            Attempt(
                job.model, job.tier, *places[job.problem], job.problem, _mode(line, row), job.repeat, str((line or {}).get("run") or ""),
                speedup=row["speedup"] if row and fit else None, speedup_low=row["speedup_low"] if row and fit else None, sol=row["roofline_sol_model"] if row and fit else None,
                energy_ratio=row["energy_ratio"] if row and good else None, tokens=(line or {}).get("tokens"), cost_usd=(line or {}).get("cost_usd"),
                device=row["machine_device_id"] if row else "",
            )
        )  # fmt: skip
    return plan, found, standings(found, Counter(places.values()))


def _suite(problem: Problem) -> str:
    """`original`, `popcorn`, an imported suite's name, or `other` for a file that was given by its path."""
    return problem.variant or (problem.id.partition("/")[0] if problem.level is not None else "") or "other"


def _mode(line: dict[str, Any] | None, row: dict[str, Any] | None) -> Any:
    if line is None:
        return "infrastructure"
    if row is None:  # nothing was submitted, or its record lies in another store
        return "error" if line.get("outcome") == "no_kernel" else "infrastructure"
    return mode_of(row["outcome"], row["judgement"])


def _record_of(line: dict[str, Any], cache: Path) -> str | None:
    """The final kernel's record; older lines do not tell it, and the run does."""
    if "record" in line:
        return line["record"]
    try:
        run = json.loads((cache / "runs" / "agents" / str(line.get("run")) / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return run.get("record_id") if isinstance(run, dict) else None


def by_level(found: Sequence[Standing]) -> list[Row]:
    """A row a (variant, level), model and tier."""
    return [
        {
            "problems": f"{one.variant} L{one.level}" if one.level else one.variant, "model": one.model, "tier": one.tier, "planned": one.planned,
            "timed": one.speedup.timed, "no_result": one.modes["missing"] + one.modes["infrastructure"], "correct_share": one.correct_rate, "fast_1_share": one.fast_1,
            "speedup_median": one.speedup_median, "speedup_mean_correct": one.speedup.correct_only, "speedup_mean_all": one.speedup.failures_as_1,
            "tokens": one.tokens, "cost_usd": one.cost_usd,
        }
        for one in found
    ]  # fmt: skip


def by_problem(attempts: Sequence[Attempt]) -> list[Row]:
    """A row an attempt."""
    return [
        {
            "problem": one.problem, "model": one.model, "tier": one.tier, "repeat": one.repeat, "result": one.mode, "speedup": one.speedup, "sol": one.sol,
            "tokens": one.tokens, "cost_usd": one.cost_usd, "device": one.device, "run": one.run,
        }
        for one in sorted(attempts, key=lambda one: (one.problem, one.model, one.tier, one.repeat))
    ]  # fmt: skip


MEANING = (
    "Every planned problem counts. correct: share of correct repeats, mean over problems. fast_1: share of problems with a correct kernel faster than eager by its whole 95 % interval. "
    "timed: problems with a correct kernel whose controls passed, or were not asked for (control = false); speedups are over eager, of each the median of its repeats: their median, their geometric mean "
    "(timed), and that with every other planned problem as 1x (all). no result: broken off by a provider or a fault of the harness, or not done yet."
)
