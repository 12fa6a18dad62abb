"""What a sweep looks like, as a table within 100 columns, and plans and sweeps as plain data. The live view and `status` draw the same."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.plan import Plan, make_plan
from popcorn.units import UNKNOWN, show_hours, show_ratio, show_time

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

MOST_ACTIVE = 12
MOST_REASONS = 6


def plan_facts(plan: Plan, gpus: int) -> dict[str, Any]:
    """A plan as data."""
    return {
        "sweep": plan.matrix.name, "jobs": len(plan.jobs), "done": plan.done, "missing": len(plan.missing),
        "given_up": sum(cell.given_up for cell in plan.cells), "refused": sum(cell.refused for cell in plan.cells), "gpus": gpus,
        "outdated": plan.outdated,
        "expected_hours": plan.hours(gpus), "expected_tokens": plan.tokens, "expected_dollars": plan.dollars, "unpriced_models": plan.unpriced,
        "unset_keys": plan.unset_keys,
        "cells": [vars(cell) for cell in plan.cells],
    }  # fmt: skip


def sweep_facts(folder: SweepFolder) -> dict[str, Any]:
    """A sweep as data: its plan as it stands and its workers' last words."""
    spec = folder.spec()
    workers = folder.workers()
    live = [one for one in workers if one.get("state") in ("running", "draining", "paused")]
    facts: dict[str, Any] = {
        "sweep": spec.matrix.name,
        "folder": str(folder.path),
        "kind": spec.matrix.kind,
        "engine": spec.engine,
        "workers": workers,
    }
    if spec.matrix.kind == "agents":
        plan = make_plan(spec.matrix, Done(Path(spec.cache)))
        outcomes: dict[str, int] = {}
        spent = Done(Path(spec.cache)).spent(spec.matrix.name)
        for job in plan.jobs:
            line = plan.known.done.get(job.id)
            if line is not None:
                outcomes[str(line.get("outcome"))] = outcomes.get(str(line.get("outcome")), 0) + 1
        facts |= {
            "jobs": len(plan.jobs), "done": plan.done, "missing": len(plan.missing), "given_up": sum(cell.given_up for cell in plan.cells),
            "refused": sum(cell.refused for cell in plan.cells), "outcomes": outcomes, "tokens": spent.tokens, "dollars": spent.dollars, "unpriced": spent.unpriced,
            "expected_dollars": plan.dollars, "measured": all(cell.measured for cell in plan.cells if cell.missing), "expected_hours": plan.hours(max(1, sum(len(one.get("devices", ())) for one in live or workers))),
            "outdated": plan.outdated, "failures": failures(plan), "cells": [vars(cell) for cell in plan.cells],
        }  # fmt: skip
    else:
        from popcorn.sweep.filling import phase_facts

        facts |= phase_facts(folder, spec)
    left = facts.get("given_up") or facts.get("refused")
    facts["state"] = "running" if live else "stopped" if facts.get("missing") else "ended" if left else "done"
    return facts


def failures(plan: Plan) -> list[dict[str, Any]]:
    """Why jobs gave up or are left out: model, reason, how many; the most first."""
    found: Counter[tuple[str, str]] = Counter()
    missing = {job.id for job in plan.missing}
    for job in plan.jobs:
        if job.id in plan.known.done or job.id in missing:
            continue
        why = plan.known.refused.get(job.id) or plan.known.why.get(job.id) or "no reason was recorded"
        found[job.model, " ".join(why.split())[:160]] += 1
    return [{"model": model, "reason": reason, "jobs": count} for (model, reason), count in found.most_common()]


def outdated_line(count: int, versions: tuple[str, ...] = ()) -> str:
    """What is missing though there is an answer."""
    by = f" (by Popcorn {', '.join(versions)})" if versions else ""
    one = count == 1
    return (
        f"{count} of the missing {'was' if one else 'were'} answered before{by}, to another question: Popcorn, its prompts, the problem's text or settings "
        f"changed; {'it is' if one else 'they are'} asked, and paid for, again"
    )


def sweep_table(facts: dict[str, Any]) -> "Group":
    """The same for people."""
    from rich.console import Group
    from rich.text import Text

    done, jobs = facts["done"], facts["jobs"]
    head = f"{facts['sweep']} · {facts['state']} · {done:,} of {jobs:,} jobs" + (" have a result" if jobs - done > facts["missing"] else "")
    if facts.get("outcomes"):
        head += " · " + ", ".join(f"{count} {name}" for name, count in sorted(facts["outcomes"].items(), key=lambda pair: -pair[1]))
    lines: list[Any] = [Text(head)]
    bar = round(60 * done / jobs) if jobs else 60
    lines.append(Text("█" * bar + "░" * (60 - bar) + f" {100 * done / jobs if jobs else 100:.0f} %"))
    if "expected_hours" in facts:
        lines.append(Text(_outlook(facts)))
    for name, count in (("gave up after their retries", facts.get("given_up")), ("cannot be done here", facts.get("refused"))):
        if count:
            lines.append(Text(f"{count} job{'' if count == 1 else 's'} {name}"))
    reasons = facts.get("failures", ())
    for one in reasons[:MOST_REASONS]:
        lines.append(Text(f"  {one['jobs']} of {one['model']}: {one['reason']}"))
    if reasons:
        more = len(reasons) - MOST_REASONS
        lines.append(Text((f"  … and {more} more reasons; " if more > 0 else "  ") + "`popcorn sweep resume --retry` tries them again"))
    if facts.get("outdated"):
        lines.append(Text(outdated_line(facts["outdated"])))
    for phase in facts.get("phases", ()):
        lines.append(
            Text(
                f"  {phase['phase']:20} {phase['done']:>6,} of {phase['jobs']:>6,} rows{'  · ' + phase['reason'] if phase.get('reason') else ''}"
            )
        )
    active = [one for worker in facts["workers"] if worker.get("state") not in ("ended", "lost") for one in worker.get("active", ())]
    if active:
        table = _table("problem", "model", "tier", "turn", "now", "best", "device")
        for one in sorted(active, key=lambda one: one["since"])[:MOST_ACTIVE]:
            best = show_ratio(one["best"]) if one.get("best") else UNKNOWN
            table.add_row(one["problem"], one["model"], one["tier"], f"{one['turn']}/{one['turns']}", one["now"], best, one["device"])
        lines.append(table)
        if len(active) > MOST_ACTIVE:
            lines.append(Text(f"… and {len(active) - MOST_ACTIVE} more"))
    for worker in facts["workers"]:
        lines.append(Text(worker_line(worker)))
    return Group(*lines)


def _outlook(facts: dict[str, Any]) -> str:
    """`spent 1,204,331 tokens, $12.40 · about 3 h 20 min and $31.00 left (means of what is done)`."""
    spent = f"spent {facts['tokens']:,} tokens, ${facts['dollars']:,.2f}"
    if facts.get("unpriced"):
        spent += f" and {facts['unpriced']} runs without a price"
    if not facts["missing"]:
        return spent
    basis = "means of what is done" if facts["measured"] else "partly guessed from budgets"
    return f"{spent} · about {show_hours(facts['expected_hours'])} and ${facts['expected_dollars']:,.2f} left ({basis})"


def worker_line(worker: dict[str, Any]) -> str:
    """`worker 0 · running · cuda:0 · 12 done, 1 failed · device busy 93 % · 31 of 240 evaluations remembered`."""
    elapsed = max(1e-9, float(worker.get("updated", 0)) - float(worker.get("began", worker.get("updated", 0))))
    devices = worker.get("devices", ())
    parts = [f"worker {worker['rank']}", str(worker.get("state")), ", ".join(devices)]
    parts.append(f"{worker.get('done', 0)} done, {worker.get('failed', 0)} failed")
    if devices and worker.get("device_run_s"):
        parts.append(f"devices at work {min(100.0, 100 * float(worker['device_run_s']) / elapsed / len(devices)):.0f} %")
    if worker.get("asked"):
        parts.append(f"{worker.get('remembered', 0)} of {worker['asked']} evaluations remembered")
    if worker.get("paused"):
        parts.append(f"paused: {'; '.join(worker['paused'])}")
    if worker.get("why"):
        parts.append(f"stopped: {worker['why']}")
    if worker.get("resting"):
        parts.append(f"at rest: {', '.join(worker['resting'])}")
    if worker.get("state") == "lost":
        parts.append(f"silent for {show_time(time.time() - float(worker['updated']))}")
    return " · ".join(part for part in parts if part)


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in columns:
        table.add_column(
            name,
            justify="right" if name in ("jobs", "done", "missing", "tokens", "money", "turn", "best") else "left",
            overflow="ellipsis",
            no_wrap=True,
        )
    return table
