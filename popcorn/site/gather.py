"""Everything the pages show, read from tables, runs and searches: small rows here, whole records and runs only when their page is made."""

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.errors import BadRecord, MissingFile
from popcorn.records.runs import default_runs, read_run, run_files
from popcorn.records.shipped import shipped_tables
from popcorn.records.store import Store, default_store
from popcorn.records.tables import KEY, Tables, opened
from popcorn.schema.run import Run
from popcorn.scoring import Attempt, Mode, Standing, mode_of, optimal, standings
from popcorn.site.searches import Search, read_searches
from popcorn.site.words import name, place_of

Row = dict[str, Any]

_COLUMNS = """id, problem, problem_hash, implementation, candidate_hash, language, name, case_id, case_precision, case_gradient,
machine_device_id, machine_device_name, outcome, outcome_group, verdict_reason, time_s, low_s, high_s, baseline_time_s, speedup, speedup_low,
speedup_high, speedup_compiled, speedup_compiled_low, speedup_compiled_high, comparison, control_fit, sol, roofline_sol_model, sol_source, bound, energy_j, energy_ratio, memory_ratio, launches_fusion_ratio,
device_lane_run_s, made, judgement, judgement_evidence"""
EVALUATIONS = f"SELECT {_COLUMNS} FROM records WHERE kind = 'evaluation' ORDER BY made DESC, id"
REFERENCES = """SELECT problem, problem_hash, arg_max(reference, made) AS reference, max(made) AS made FROM records
WHERE kind = 'evaluation' AND reference IS NOT NULL GROUP BY ALL ORDER BY made DESC"""
OPS = f"""SELECT id, problem, problem_hash, implementation, candidate_hash, language, case_id, case_dims, case_precision, case_layout, case_gradient,
case_scalars, machine_device_id, machine_device_name, machine_torch, harness, outcome, verdict_reason, time_s, low_s, high_s, baseline_time_s,
speedup, speedup_low, speedup_high, control_fit, memory_peak_bytes, memory_baseline_peak_bytes, sol, roofline_bandwidth_bytes_per_s,
roofline_flop_per_s, roofline_peak_bandwidth_bytes_per_s, roofline_peak_flop_per_s, roofline_min_bytes, roofline_flops, made, judgement
FROM records WHERE kind = 'op' AND problem = ? QUALIFY row_number() OVER (PARTITION BY {", ".join(KEY)}, machine_torch
ORDER BY coalesce(judgement = 'condemned', false), outcome = 'harness_error', made DESC, id) = 1 ORDER BY made DESC, id"""
OP_COUNTS = """SELECT problem, count(*) AS cases, count(DISTINCT implementation) AS implementations, count(DISTINCT machine_device_id) AS devices,
count(*) FILTER (outcome = 'correct') AS correct, max(made) AS made,
list(DISTINCT coalesce(machine_device_name, machine_device_id)) AS device_names, string_agg(DISTINCT implementation, ', ' ORDER BY implementation) AS names
FROM latest WHERE kind = 'op' GROUP BY problem ORDER BY problem"""

PROVEN_OPS = """SELECT problem, implementation AS name, case_id, machine_device_id AS device, machine_device_name, speedup, speedup_low, speedup_high FROM counted
WHERE kind = 'op' AND outcome = 'correct' AND control_fit AND speedup_low > 1
QUALIFY row_number() OVER (PARTITION BY problem ORDER BY speedup DESC, id) = 1"""
"""Of each op the implementation and case that are most faster than the reference, where the controls of the run passed."""

_DOMAIN = re.compile(r"^DOMAIN\s*=\s*[\"']([^\"']{1,60})[\"']", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """One store, under the name that pages give it."""

    label: str
    tables: Store | Path | Sequence[Store | Path]
    runs: Path | None = None
    """Folder of runs."""
    searches: Path | None = None
    """Folder of searches."""


@dataclass(frozen=True)
class RunRow:
    """A run, without its turns."""

    store: str
    path: Path
    stamp: str
    """Of its file: changes when the file does."""
    run: Run
    """Turns and long texts left out."""
    turns: int
    tool_s: float | None
    """Seconds that its tools worked."""
    record: Row | None
    """The row of its final kernel."""
    mode: Mode | None
    """None while it is still at work."""
    optimal: bool = False
    """On the Pareto front of its (variant, level)."""


@dataclass
class Gathered:
    """What a site is made of."""

    evaluations: list[Row] = field(default_factory=list)
    """Newest first, those of runs among them (`run` is the run's id)."""
    runs: list[RunRow] = field(default_factory=list)
    """Newest first."""
    attempts: list[Attempt] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    references: dict[str, Row] = field(default_factory=dict)
    """Problem → its newest reference text."""
    ops: dict[str, Row] = field(default_factory=dict)
    """Op → how much of it was measured."""
    proven: dict[str, Row] = field(default_factory=dict)
    """Op → the fastest row of it whose controls passed, as `PROVEN_OPS` says."""
    searches: list[Search] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def default_sources() -> list[Source]:
    """What this user has measured, and the records that ship with the package."""
    runs, shipped = default_runs(), shipped_tables()
    own = Source("this machine", default_store(), runs, runs.parent / "searches")
    return [own, *([Source("shipped", shipped)] if shipped else [])]


@contextlib.contextmanager
def open_sources(sources: Sequence[Source]) -> Iterator[dict[str, Tables]]:
    """The tables of each source, by its label."""
    with contextlib.ExitStack() as stack:
        yield {source.label: stack.enter_context(opened(source.tables)) for source in sources}


def gather(sources: Sequence[Source], tables: dict[str, Tables]) -> Gathered:
    """All small rows. Long texts stay where they are."""
    found = Gathered()
    for source in sources:
        asked = tables[source.label]
        rows = [{**row, "store": source.label} for row in asked.ask(EVALUATIONS).dicts()]
        seen = {row["id"] for row in found.evaluations}
        found.evaluations += [row for row in rows if row["id"] not in seen]  # stores that were merged share records
        for row in asked.ask(REFERENCES).dicts():
            found.references.setdefault(row["problem"], row)
        for row in asked.ask(OP_COUNTS).dicts():
            known = found.ops.setdefault(row["problem"], {**row, "cases": 0, "correct": 0, "device_names": []})
            known["cases"] += row["cases"]
            known["correct"] += row["correct"]
            known["device_names"] = sorted({*known["device_names"], *row["device_names"]})
        for row in asked.ask(PROVEN_OPS).dicts():
            if row["speedup"] > found.proven.get(row["problem"], row)["speedup"] or row["problem"] not in found.proven:
                found.proven[row["problem"]] = row
        if source.runs is not None and source.runs.is_dir():
            read = {one.run.id for one in found.runs}
            runs = _read_runs(source, {row["id"]: row for row in rows}, found.warnings)
            found.runs += [one for one in runs if one.run.id not in read]
        if source.searches is not None and source.searches.is_dir():
            found.searches += read_searches(source.searches, found.warnings)
        if isinstance(source.tables, Store):
            found.warnings += source.tables.warnings
    for row in found.evaluations:
        told = told_apart(row)
        row["name"] = told and name(told)
    found.evaluations.sort(key=lambda row: row["made"] or "", reverse=True)
    found.runs.sort(key=lambda one: one.run.started or "", reverse=True)
    _score(found)
    return found


def _score(found: Gathered) -> None:
    ended = [one for one in found.runs if one.mode is not None]
    repeats: dict[tuple[str, ...], int] = {}
    for one in reversed(ended):
        key = (one.store, one.run.model, one.run.tier, one.run.language, one.run.problem)
        repeats[key] = repeats.get(key, -1) + 1
        found.attempts.append(attempt_of(one, repeats[key]))
    found.standings = standings(found.attempts)
    groups: dict[tuple[str, int], list[Attempt]] = {}
    for attempt in found.attempts:
        groups.setdefault((attempt.variant, attempt.level), []).append(attempt)
    best = {some[i].run for some in groups.values() for i, on in enumerate(optimal(some)) if on}
    found.runs = [dataclasses.replace(one, optimal=one.run.id in best) for one in found.runs]


def told_apart(row: Row) -> str | None:
    """A kernel's name; where its file is called what everybody's is, with the first digits of its text's hash."""
    given: str | None = row["name"]
    if given and given.rpartition(".")[0].lower() in _EVERYBODYS and row["candidate_hash"]:
        return f"{given} {row['candidate_hash'][:6]}"
    return given


_EVERYBODYS = {"kernel", "submission", "candidate", "main", "model_new", "modelnew", "solution"}


def attempt_of(one: RunRow, repeat: int = 0) -> Attempt:
    """The run as scoring sees it."""
    run, row = one.run, one.record or {}
    variant, level = place_of(run.problem)
    good = one.mode == "correct"
    fit = good and row.get("control_fit") is not False
    device_s = row.get("device_lane_run_s")
    return Attempt(
        model=run.model, tier=run.tier, variant=variant, level=level, problem=run.problem, mode=one.mode or "missing", repeat=repeat, run=run.id,
        # a figure whose controls failed ranks nowhere; counters and the model are never mixed in one rank
        speedup=row.get("speedup") if fit else None, speedup_low=row.get("speedup_low") if fit else None, sol=row.get("roofline_sol_model") if fit else None,
        energy_ratio=row.get("energy_ratio") if good else None, tokens=run.tokens.total, cost_usd=run.cost_usd,
        gpu_s=device_s if one.tool_s is None else one.tool_s,
    )  # fmt: skip


def _read_runs(source: Source, rows: dict[str, Row], warnings: list[str]) -> Iterator[RunRow]:
    assert source.runs is not None
    for path in run_files(source.runs):
        try:
            run = read_run(path)
        except (BadRecord, MissingFile) as error:
            warnings.append(str(error))
            continue
        row = rows.get(run.record_id or "")
        if row is not None and (run.started or "") < row.get("run_started", "~"):
            # runs that asked the same share its record; it belongs to the one that asked first
            row |= {"run": run.id, "run_started": run.started or ""}
            if (
                row.get("run_model") or (row["name"] or "").rpartition(".")[0] == "kernel"
            ):  # what every agent's file is called tells nothing
                row |= {"name": run.model, "run_model": run.model}
        worked = [call.run_s for turn in run.turns for call in turn.calls if call.run_s is not None and call.tool not in _BUILDERS]
        slim = run.model_copy(update={"turns": (), "prompt": None, "reference": None, "candidate": None})
        status = path.stat()
        stamp = f"{status.st_mtime_ns}/{status.st_size}"
        yield RunRow(source.label, path, stamp, slim, len(run.turns), sum(worked) if worked else None, row, mode_of_run(run, row))


_BUILDERS = ("compile_kernel", "disassemble_kernel")
"""Tools that work in the build lane, not on the device."""


def mode_of_run(run: Run, row: Row | None) -> Mode | None:
    """How a run ended; None while it is at work. A run that the provider or the machine broke off is nobody's failure."""
    if run.ended_by is None:
        return None
    if row is not None:
        return mode_of(row["outcome"], row["judgement"])
    if run.record_id is not None:
        return "infrastructure"  # its record lies in a store that was not given
    return {"error": "infrastructure", "stopped": "missing"}.get(run.ended_by, "error")  # type: ignore[return-value]


def domain_of(reference: str | None) -> str | None:
    """The domain that a problem's text declares."""
    match = _DOMAIN.search(reference or "")
    return match[1] if match else None


def title_of(problem: str, reference: str | None) -> str:
    """First line of the problem's own words, else its id."""
    match = re.match(r'\s*(?:#[^\n]*\n\s*)*[rR]?"""\s*(.+?)(?:\n|""")', reference or "")
    return match[1].strip().rstrip(".")[:140] if match else problem


def digest(*parts: Any) -> str:
    """16 hex digits of what a page shows."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]
