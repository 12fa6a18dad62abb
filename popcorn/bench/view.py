"""Rows of the library as tables: what was measured, and what became slower between two stores. Imports without torch.

The figures come from Parquet through DuckDB, so that a hundred thousand rows are grouped before any of them becomes a Python object.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from popcorn.records.store import Store
from popcorn.records.tables import query
from popcorn.units import UNKNOWN, show_bytes, show_ratio, show_time

Tables = Store | Path | Sequence[Path]

_SUMMARY = """
SELECT problem, implementation, machine_device_id, case_precision, case_gradient, count(*) AS cases,
       count(*) FILTER (outcome = 'correct') AS correct, exp(avg(ln(speedup))) AS speedup, min(speedup) AS worst, max(speedup) AS best,
       exp(avg(ln(memory_ratio)) FILTER (memory_ratio > 0)) AS memory, count(*) FILTER (control_fit = false) AS unfit
FROM latest WHERE kind = 'op' GROUP BY ALL ORDER BY ALL
"""
_CASES = """
SELECT implementation, case_id, outcome, time_s, baseline_time_s, speedup, speedup_low, speedup_high, memory_peak_bytes,
       memory_baseline_peak_bytes, control_fit
FROM latest WHERE kind = 'op' AND problem = ? ORDER BY case_dims, case_id, implementation LIMIT ?
"""
_BOTH = """
SELECT problem, implementation, case_id, machine_device_id, time_s, low_s, high_s, outcome FROM latest WHERE kind = 'op'
"""


def summary(source: Tables) -> Table:
    """One row for each op, implementation, device, element type and gradient mode: how many cases, how many right, how fast."""
    table = _table("op", "implementation", "device", "dtype", "mode", "cases", "right", "speedup", "worst", "best", "memory", "unfit")
    for row in query(_SUMMARY, source).rows:
        op, name, device, precision, gradient, cases, correct, speedup, worst, best, memory, unfit = row
        ratios = [show_ratio(value) for value in (speedup, worst, best, memory)]
        mode = "fwd+bwd" if gradient == "grad" else "forward"
        table.add_row(*(Text(str(cell)) for cell in (op, name, device, precision, mode, cases, correct, *ratios, unfit)))
    return table


def cases(source: Tables, op: str, limit: int = 200) -> Table:
    """Every case of one op, the first `limit` of them."""
    table = _table("implementation", "case", "outcome", "time", "torch", "speedup", "95 % interval", "peak", "torch peak", "")
    for row in query(_CASES, source, [op, limit]).rows:
        name, case, outcome, time_s, base_s, speedup, low, high, peak, base_peak, fit = row
        interval = UNKNOWN if low is None else f"[{show_ratio(low)}, {show_ratio(high)}]"
        cells = (
            name,
            case,
            outcome,
            show_time(time_s),
            show_time(base_s),
            show_ratio(speedup),
            interval,
            show_bytes(peak),
            show_bytes(base_peak),
        )
        table.add_row(*(Text(str(cell)) for cell in cells), Text("unfit" if fit is False else ""))
    return table


def differences(before: Tables, after: Tables) -> list[dict[str, Any]]:
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


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
