"""A search on disk as pages and figures read it: the three files of docs/site.md, the best kernel, and its Run for the figures.

All of it is made from what the ledger says and can be made again; each file is replaced whole or not at all.
"""

import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from popcorn import __version__
from popcorn.records.runs import write_run
from popcorn.schema.run import Run, Tokens, ToolCall, Turn
from popcorn.search.behaviour import AXES
from popcorn.search.fitness import CORRECT, fitness, speedup_of
from popcorn.search.ledger import Ledger
from popcorn.search.program import Program
from popcorn.search.progress import Progress
from popcorn.search.winners import BEST, Best, kernel_file

TIER = "search"
"""Tier of a search's run: figures 7 and 8 tell searches from agents by it."""


def write_pages(state: Progress, ledger: Ledger, made_by: str) -> None:
    """search.json, candidates.jsonl, prompts.jsonl, best.json and the best kernel as a file of its own, in the search's folder."""
    plan, folder = state.plan, ledger.folder
    started = next((at for _, _, _, at in ledger.rows()), datetime.now(UTC).isoformat(timespec="seconds"))
    about = {
        "problem": plan.problem, "model": made_by, "method": plan.strategy, "started": started, "axes": list(AXES), "language": plan.language,
        "seed": plan.seed, "evaluations": state.finished, "ended": state.ended, "device_s": round(state.device_s, 3), "tuned": state.tried[-500:],
    }  # fmt: skip
    _replace(folder / "search.json", json.dumps(about, indent=1))
    elites = {one.id for island in state.population.islands for one in island}
    judged = [one for one in state.history if one.outcome != "no_kernel"]
    _replace(
        folder / "candidates.jsonl", "".join(json.dumps(_row(one, order, state, elites)) + "\n" for order, one in enumerate(judged, 1))
    )
    if state.prompts is not None:
        rows = [_prompt(one, state) for one in state.prompts.versions]
        _replace(folder / "prompts.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    best = next(iter(state.winners(1)), None)
    if best is not None:
        found = Best(
            source=best.source, language=plan.language, problem=plan.problem, program=best.id, speedup=speedup_of(best), made_by=made_by,
            record_id=next((one.record_id for one in reversed(best.measures) if one.record_id), None),
        )  # fmt: skip
        _replace(folder / BEST, found.model_dump_json(indent=1))
        _replace(folder / kernel_file(plan.language), best.source)


def run_of(state: Progress, ledger: Ledger, made_by: str) -> Run:
    """The search as a Run, so that figures 7 and 8, rankings and the run page know it."""
    plan, best = state.plan, next(iter(state.winners(1)), None)
    rows = list(ledger.rows())
    calls = tuple(_call(one) for one in state.history if one.outcome != "no_kernel")
    known = [one.proposal.tokens for one in state.history if one.proposal.tokens is not None]
    last = best.measures[-1] if best else None
    cost = None if state.unpriced else state.cost_usd
    total = Tokens(total=sum(known)) if known else Tokens()
    turn = Turn(index=1, tokens=total, cost_usd=cost, calls=calls, text=f"{plan.strategy}: {len(state.history)} programs", final=True)
    ended: Any = None if state.ended is None else {"money": "money", "target": "submit"}.get(state.ended, "submit")
    return Run(
        id=ledger.folder.name, problem=plan.problem, model=f"evolve/{made_by}", tier=TIER, language=plan.language, precision=plan.precision,
        max_tool_calls=plan.evaluations, turns=(turn,), tool_calls=len(calls), tokens=total, cost_usd=cost, wall_s=sum(row[2] for row in rows),
        ended_by=ended, submitted_by="harness", outcome=(best.outcome if best else "no_kernel") if state.ended else None,
        speedup=speedup_of(best) if best else None, candidate=best.source if best else None, record_id=last.record_id if last else None,
        started=rows[0][3] if rows else None, finished=rows[-1][3] if rows and state.ended else None, harness=__version__,
    )  # fmt: skip


def write_search(state: Progress, ledger: Ledger, made_by: str, runs: Path) -> None:
    """Pages and run, as of now."""
    write_pages(state, ledger, made_by)
    write_run(run_of(state, ledger, made_by), runs / "searches")


def _row(one: Program, order: int, state: Progress, elites: set[str]) -> dict[str, Any]:
    level, low = fitness(one)
    row: dict[str, Any] = {
        "id": one.id, "parents": list(one.proposal.parents), "evaluation": order, "generation": one.generation, "island": one.island,
        "operator": one.proposal.operator, "outcome": one.outcome, "speedup": speedup_of(one), "cell": list(one.cell), "elite": one.id in elites,
        "record_id": next((measured.record_id for measured in reversed(one.measures) if measured.record_id), None),
        "place": state.places.get(one.id), "measures": len(one.measures), "model": one.proposal.model, "params": one.proposal.params or None,
        "score": math.exp(low) if level == CORRECT and math.isfinite(low) else None, "prompt": one.proposal.prompt, "tokens": one.proposal.tokens,
        "cost_usd": None if state.unpriced else round(state.costs.get(one.id, 0.0), 6), "reason": (one.measures[-1].reason or "")[:300] or None,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None or name == "speedup"}


def _prompt(one: Any, state: Progress) -> dict[str, Any]:
    assert state.prompts is not None
    credit = state.prompts.credits[one.id]
    row = {
        "id": one.id, "parent": one.parent, "text": one.text, "uses": len(credit.gains), "best": credit.best,
        "mean_score": round(credit.mean, 4),
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None}


def _call(one: Program) -> ToolCall:
    speedup = speedup_of(one)
    return ToolCall(
        tool="evaluate_candidate", arguments={"kernel_code": one.source[:200_000], "operator": one.proposal.operator, "parents": list(one.proposal.parents)},
        result=(one.measures[0].told or one.measures[0].reason or one.outcome)[:4000],
        data={"program": one.id, "outcome": one.outcome, "speedup": speedup, "cell": list(one.cell)}, ok=one.outcome == "correct",
        run_s=sum(measured.device_s for measured in one.measures),
    )  # fmt: skip


def _replace(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
