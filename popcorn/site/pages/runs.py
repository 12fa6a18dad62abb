"""Runs: the list, and a page a run with its turns. Long runs stay small: turns after the first are loaded when they are opened."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from popcorn.records.columns import unflatten
from popcorn.records.runs import read_run
from popcorn.schema.run import Run, ToolCall, Turn
from popcorn.site import code, words
from popcorn.site.embedding import deliver, finite
from popcorn.site.gather import Gathered, Row, RunRow, digest, title_of
from popcorn.site.page import Files, Page, environment, show, simple
from popcorn.site.pages.evaluations import about_record

INLINE = 20
"""Turns whose text is in the page itself; the others lie beside it in pieces of as many."""

TEXT = 12_000
"""Characters of one text that a page shows; the whole is in a file beside it."""

INLINE_BUDGET = 600_000
"""Characters of turns in the page itself."""


def pages(found: Gathered) -> Iterator[Page]:
    """The list, then one page a run."""
    yield simple("runs.html", "runs.html", digest(len(found.runs)), total=len(found.runs))
    for one in found.runs:
        yield run_page(one)


def run_page(one: RunRow) -> Page:
    """The page of one run."""
    path = f"runs/{words.file_name(one.run.id)}.html"
    row = one.record or {}
    about = {
        "id": row.get("id"),
        "judgement": row.get("judgement"),
        "judgement_evidence": row.get("judgement_evidence"),
        "store": one.store,
    }
    seen = digest(one.stamp, about, one.mode, one.optimal)
    records = ((one.store, row["id"]),) if row else ()
    return Page(path, seen, functools.partial(render_run, path, one.path, about, one.mode, one.optimal), records)


def render_run(path: str, file: Path, about: dict[str, Any], mode: str | None, optimal: bool, rows: dict[str, Row] | None = None) -> Files:
    """The page, its pieces of turns, long texts, and the raw JSON."""
    run = read_run(file)
    stem = path.removesuffix(".html")
    writer = _Texts(stem)
    bodies = [writer.turn(turn) for turn in run.turns]
    inline = _inline(bodies)
    for start in range(inline, len(bodies), INLINE):
        writer.files[f"{stem}/turns-{start}.js"] = deliver(f"turns-{start}", bodies[start : start + INLINE])
    row = (rows or {}).get(about["id"] or "")
    record = unflatten(row) if row else None
    prompt, cut_prompt = writer.shown("prompt", run.prompt)
    final = run.candidate or ""
    values = {
        "run": run, "mode": mode, "optimal": optimal, "judged": about, "title": title_of(run.problem, run.reference), "turns": heads(run, inline),
        "bodies": bodies[:inline], "inline": INLINE, "first_piece": inline, "stem": stem.rpartition("/")[2], "prompt": prompt,
        "prompt_cut": cut_prompt, "final": code.numbered(final, run.language) if final else [], "final_text": final,
        "seen": code.numbered(run.reference) if run.reference else [], "seen_text": run.reference or "", "timeline": timeline(run),
        "steps": steps(run), "limit": code.LIMIT,
    }  # fmt: skip
    about_it = (
        about_record(record)
        if record
        else {"record": None, "sections": [], "tables": [], "times": [], "roof": None, "headline": words.outcome_word(None)}
    )
    values["absent"] = absent(run)
    html = show("run.html", path, **{**about_it, **values})
    if record:
        writer.files[f"{stem}.record.json"] = record.model_dump_json(indent=1)
        writer.files[f"{stem}.source.js"] = code.delivered(record.id, record.subject.source or run.candidate)
    return {path: html, f"{stem}.json": run.model_dump_json(indent=1), **writer.files}


def absent(run: Run) -> str:
    """What is said where there is no record: never that nothing was submitted when something was."""
    if run.ended_by is None:
        return "the run has not ended"
    if run.record_id is None:
        return run.reason or "no kernel was submitted"
    said = f"{words.outcome_word(run.outcome)}{f', {words.ratio(run.speedup)}' if run.speedup is not None else ''}"
    return f"its record {run.record_id} is in none of the stores that this site was built from; the run itself says: {said}"


def heads(run: Run, inline: int) -> list[dict[str, Any]]:
    """One line a turn."""
    found = []
    for place, turn in enumerate(run.turns):
        piece = None if place < inline else inline + (place - inline) // INLINE * INLINE
        tools = [call.tool for call in turn.calls]
        found.append({"turn": turn, "place": place, "piece": piece, "tools": tools[:8], "more": max(0, len(tools) - 8),
                      "failed": sum(not call.ok for call in turn.calls)})  # fmt: skip
    return found


def timeline(run: Run) -> list[dict[str, Any]]:
    """Seconds of each turn: model, tools at work, queues, and the rest of its wall time."""
    rows = []
    for turn in run.turns:
        llm, queue = turn.llm_s or 0.0, min(turn.queue_s or 0.0, turn.tool_s or 0.0)
        tools = max(0.0, (turn.tool_s or 0.0) - queue)
        rest = max(0.0, turn.wall_s - llm - tools - queue) if turn.wall_s is not None else 0.0
        rows += [
            {"turn": turn.index, "part": part, "s": value}
            for part, value in (("model", llm), ("tools", tools), ("queue", queue), ("other", rest))
            if value
        ]
    return rows


def steps(run: Run) -> list[dict[str, Any]]:
    """How the kernel changed from one submitted text to the next."""
    found: list[dict[str, Any]] = []
    before: str | None = None
    for turn in run.turns:
        for call in turn.calls:
            text = kernel_of(call)
            if text is not None and text != before:
                if before is not None:
                    found.append({"turn": turn.index, "tool": call.tool, "before": before, "after": text})
                before = text
    return [_step(one) for one in found[-12:]]


def _step(change: dict[str, Any]) -> dict[str, Any]:
    lines = code.difference(change["before"], change["after"])
    kinds = [kind for kind, _ in lines]
    return {**change, "added": kinds.count("+"), "removed": kinds.count("-"), "lines": code.shown(lines[:400])}


def kernel_of(call: ToolCall) -> str | None:
    """The kernel's text among a call's arguments."""
    found = next((call.arguments[name] for name in ("kernel_code", "code", "source") if name in call.arguments), None)
    return found if isinstance(found, str) else None


class _Texts:
    """Texts of turns as HTML; what is too long goes whole into a file of its own."""

    def __init__(self, stem: str):
        self.stem = stem
        self.files: Files = {}

    def turn(self, turn: Turn) -> str:
        calls = []
        for place, call in enumerate(turn.calls):
            text = kernel_of(call)
            rest = {name: value for name, value in call.arguments.items() if value is not text or text is None}
            arguments = json.dumps(finite(rest), indent=1, ensure_ascii=False) if rest else ""
            shown, cut = self.shown(f"turn-{turn.index}-arguments-{place}", arguments)
            kernel, kernel_cut = self.shown(f"turn-{turn.index}-kernel-{place}", text)
            result, result_cut = self.shown(f"turn-{turn.index}-result-{place}", call.result)
            calls.append({"call": call, "arguments": shown, "arguments_cut": cut, "kernel": kernel, "kernel_cut": kernel_cut, "result": result,
                          "result_cut": result_cut})  # fmt: skip
        reasoning, reasoning_cut = self.shown(f"turn-{turn.index}-reasoning", turn.reasoning)
        answer, answer_cut = self.shown(f"turn-{turn.index}-answer", turn.text)
        made: str = (
            environment()
            .get_template("turn.html")
            .render(turn=turn, calls=calls, reasoning=reasoning, reasoning_cut=reasoning_cut, answer=answer, answer_cut=answer_cut)
        )
        return made

    def shown(self, name: str, text: str | None) -> tuple[str, dict[str, Any] | None]:
        """(text that the page shows, where the whole is when that is not all)."""
        text = text or ""
        if len(text) <= TEXT:
            return code.clean(text), None
        path = f"{self.stem}/{name}.txt"
        self.files[path] = text
        return code.clean(text[:TEXT]), {"href": "/".join(path.split("/")[1:]), "characters": len(text)}


def _inline(bodies: list[str]) -> int:
    """How many turns the page itself holds."""
    total = 0
    for place, body in enumerate(bodies[:INLINE]):
        total += len(body)
        if total > INLINE_BUDGET:
            return place
    return min(INLINE, len(bodies))
