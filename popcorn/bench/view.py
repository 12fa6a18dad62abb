"""Rows of the library as tables: what was measured, and what became slower between two stores. Imports without torch.

The figures come from Parquet through DuckDB, so that a hundred thousand rows are grouped before any of them becomes a Python object.
"""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from popcorn.ops.registry import REFERENCE, find_op, list_ops
from popcorn.records.answers import ask_again
from popcorn.records.tables import Source, query
from popcorn.units import UNKNOWN, show_bytes, show_ratio, show_time

_SUMMARY = """
SELECT problem, implementation, machine_device_id, case_precision, case_gradient, count(*) AS cases,
       count(*) FILTER (outcome = 'correct') AS correct, exp(avg(ln(speedup))) AS speedup, min(speedup) AS worst, max(speedup) AS best,
       exp(avg(ln(memory_ratio)) FILTER (memory_ratio > 0)) AS memory, count(*) FILTER (control_fit = false) AS unfit
FROM counted WHERE kind = 'op' GROUP BY ALL ORDER BY machine_device_id, case_precision, case_gradient DESC, problem, implementation
"""
_CASES = """
SELECT implementation, case_id, machine_device_id, outcome, time_s, baseline_time_s, speedup, speedup_low, speedup_high, memory_peak_bytes,
       memory_baseline_peak_bytes, control_fit
FROM latest WHERE kind = 'op' AND problem = ? ORDER BY case_dims, case_id, machine_device_id, implementation LIMIT ?
"""
ITSELF = "torch: the reference as an implementation, held against itself; its speedup should be 1×"
_BOTH = """
SELECT problem, implementation, case_id, machine_device_id, time_s, low_s, high_s, outcome FROM latest WHERE kind = 'op'
"""


def summarise(source: Source) -> list[dict[str, Any]]:
    """One row for each op, implementation, device, element type and gradient mode: how many cases, how many right, how fast."""
    return ask_again(_SUMMARY, source)


def list_cases(source: Source, op: str, limit: int = 200) -> list[dict[str, Any]]:
    """Every case of one op, the first `limit` of them; times in seconds, memory in bytes. Raises UnknownOp for one that is neither measured nor there."""
    rows = ask_again(_CASES, source, [op, limit])
    if not rows and op not in list_ops():
        find_op(op)  # names the nearest
    return rows


def summary(source: Source) -> RenderableType:
    """A table for each device and element type."""
    tables: dict[str, Table] = {}
    itself = False
    for row in summarise(source):
        itself |= row["implementation"] == REFERENCE
        title = f"{row['machine_device_id']} · {row['case_precision']} · {'forward and backward' if row['case_gradient'] == 'grad' else 'forward'}"
        if title not in tables:
            tables[title] = _table("op", "by", "right", "speedup", "slowest … fastest", "memory", "unfit", title=title, numbers_from=2)
            tables[title].columns[0].no_wrap = True  # a name is one word
        span = UNKNOWN if row["worst"] is None else f"{show_ratio(row['worst'])} … {show_ratio(row['best'])}" if row["cases"] > 1 else ""
        cells = (
            row["problem"], row["implementation"], f"{row['correct']} of {row['cases']}", show_ratio(row["speedup"]), span, show_ratio(row["memory"]),
            row["unfit"] or "",
        )  # fmt: skip
        tables[title].add_row(*(Text(str(cell)) for cell in cells))
    if not tables:
        return Text("Nothing is measured yet. `popcorn bench fill rms_norm softmax` measures two ops; `popcorn ops` lists them all.")
    told = Text("speedup: torch's own time over this one, geometric mean over the cases; memory: peak over torch's", style="dim")
    return Group(*tables.values(), told, *([Text(ITSELF, style="dim")] if itself else []))


def cases(source: Source, op: str, limit: int = 200) -> RenderableType:
    """A table for each case: who was measured in it."""
    rows = list_cases(source, op, limit)
    if not rows:
        return Text(f"Nothing is measured of {op} yet; `popcorn bench fill {op}` does.")
    tables: dict[str, Table] = {}
    itself = False
    for row in rows:
        base_s, own, base = row["baseline_time_s"], row["memory_peak_bytes"], row["memory_baseline_peak_bytes"]
        title = f"{row['case_id']} · {row['machine_device_id']}"
        if title not in tables:
            tables[title] = _table("by", "time", "speedup", "95 % interval", "peak", "/ torch", "", title=title, numbers_from=1)
            for column, width in zip(tables[title].columns, (11, 8, 8, 17, 8, 7, 5), strict=True):
                column.min_width = width  # the same in every case's table
        interval = UNKNOWN if row["speedup_low"] is None else f"[{show_ratio(row['speedup_low'])}, {show_ratio(row['speedup_high'])}]"
        said = row["outcome"] if row["outcome"] != "correct" else "unfit" if row["control_fit"] is False else ""
        itself |= row["implementation"] == REFERENCE
        ratio = own / base if own is not None and base else None
        cells = (
            row["implementation"],
            show_time(row["time_s"]),
            show_ratio(row["speedup"]),
            interval,
            show_bytes(own),
            show_ratio(ratio),
            said,
        )
        tables[title].add_row(*(Text(str(cell)) for cell in cells))
        if base_s is not None:
            tables[title].title = f"{title} · torch {show_time(base_s)}"
    return Group(*tables.values(), *([Text(ITSELF, style="dim")] if itself else []))


def differences(before: Source, after: Source) -> list[dict[str, Any]]:
    """Rows that both hold and whose intervals do not meet, and rows that are right in one alone; the worst regression first.

    `ratio` is the time after over the time before, None where one has no time; above 1 is slower.
    """
    old, new = ({tuple(row[:4]): row[4:] for row in query(_BOTH, source).rows} for source in (before, after))
    found = []
    for key in sorted(old.keys() & new.keys()):
        (time_a, low_a, high_a, outcome_a), (time_b, low_b, high_b, outcome_b) = old[key], new[key]
        timed = time_a is not None and time_b is not None
        if (timed and (low_b > high_a or high_b < low_a)) or outcome_a != outcome_b:
            ratio = time_b / time_a if timed else None
            names = ("op", "implementation", "case", "device")
            found.append({**dict(zip(names, key, strict=True)), "ratio": ratio, "before": outcome_a, "after": outcome_b,
                          "low": low_b / high_a if timed else None, "high": high_b / low_a if timed else None})  # fmt: skip
    return sorted(found, key=lambda row: (row["after"] == row["before"], -(row["ratio"] or 0.0)))


def difference_table(rows: list[dict[str, Any]]) -> Table:
    """As text."""
    table = _table("op", "implementation", "case", "device", "time after / before", "interval", "outcome")
    for row in rows:
        interval = UNKNOWN if row["low"] is None else f"[{show_ratio(row['low'])}, {show_ratio(row['high'])}]"
        outcome = row["after"] if row["after"] == row["before"] else f"{row['before']} → {row['after']}"
        cells = (row["op"], row["implementation"], row["case"], row["device"], show_ratio(row["ratio"]), interval, outcome)
        table.add_row(*(Text(str(cell)) for cell in cells))
    return table


def _table(*headings: str, title: str | None = None, numbers_from: int | None = None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left", title_style="bold")
    for index, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="right" if numbers_from is not None and index >= numbers_from else "left")
    return table
