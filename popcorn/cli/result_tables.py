"""Rows of scores as text for a terminal, CSV, Markdown and LaTeX."""

import csv
import io
from typing import Any

from popcorn.units import UNKNOWN, show_percent, show_ratio


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Every digit; what is unknown is empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def as_text(rows: list[dict[str, Any]]) -> str:
    """The columns that fit a terminal."""
    from popcorn.cli.listing import lay_out, width_here

    rows = [row | ({"timed": f"{row['timed']} of {row['planned']}"} if "planned" in row else {}) for row in rows]
    empty = [name for name in ("no_result", "cost_usd") if all(row.get(name) == 0 for row in rows)]
    tiers = {row["tier"] for row in rows}
    one = ["tier"] if len(tiers) == 1 else []
    if len({row.get("device") for row in rows if row.get("device") != ""}) < 2:
        one.append("device")
    names = [name for name in rows[0] if name not in ("planned", "speedup_mean_correct", "tokens", "run", *empty, *one)]
    right = [index for index, name in enumerate(names) if name == "timed" or not isinstance(rows[0][name], str)]
    cells = [[shown(name, row[name]) for name in names] for row in rows]
    folding = [index for index, name in enumerate(names) if name in ("sweep", "problems", "problem", "model", "device")]
    table = "\n".join(lay_out([heading(name) for name in names], cells, width_here(), folding, right)) + "\n"
    return (f"tier {tiers.pop()}\n" if "tier" in one else "") + table


def as_markdown(rows: list[dict[str, Any]]) -> str:
    """A table of GitHub's."""
    names = list(rows[0])
    lines = [" | ".join(heading(name) for name in names), " | ".join("---" if isinstance(rows[0][name], str) else "---:" for name in names)]
    lines += [" | ".join(shown(name, row[name]).replace("|", "\\|") for name in names) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def as_latex(rows: list[dict[str, Any]]) -> str:
    """A tabular with booktabs' rules."""
    names = list(rows[0])
    lines = [" & ".join(_tex(heading(name)) for name in names) + r" \\ \midrule"]
    lines += [" & ".join(_tex(shown(name, row[name])) for name in names) + r" \\" for row in rows]
    columns = "".join("l" if isinstance(rows[0][name], str) else "r" for name in names)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}} \toprule", *lines, r"\bottomrule \end{tabular}"]) + "\n"


WRITERS = {"text": as_text, "csv": as_csv, "markdown": as_markdown, "latex": as_latex}
_HEADINGS = {
    "no_result": "no result", "correct_share": "correct", "fast_1_share": "fast_1", "speedup_median": "median", "speedup_mean_correct": "mean (timed)",
    "speedup_mean_all": "mean (all)", "cost_usd": "money",
}  # fmt: skip


def heading(name: str) -> str:
    """A column's name for people."""
    return _HEADINGS.get(name, name)


def shown(name: str, value: Any) -> str:
    """A value for people, with its unit."""
    if value is None:
        return UNKNOWN
    if name.endswith("_share") or name == "sol":
        return show_percent(value)
    if name.startswith("speedup"):
        return show_ratio(value)
    if name == "cost_usd":
        return f"${value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_TEX = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$",
    UNKNOWN: "--",
}  # fmt: skip


def _tex(text: str) -> str:
    """Text that LaTeX sets as it stands: a model's name is no command."""
    return "".join(_TEX.get(mark, mark) for mark in text)
