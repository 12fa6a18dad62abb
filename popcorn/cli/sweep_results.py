"""`popcorn sweep results`: a sweep's scores as text, CSV, Markdown, LaTeX or JSON."""

import csv
import io
import json
import textwrap
from enum import StrEnum
from typing import Annotated, Any

import typer

from popcorn.units import UNKNOWN, show_percent, show_ratio

Run = Annotated[str | None, typer.Argument(help="A sweep's folder or name; the newest when left out.")]


class Form(StrEnum):
    """How a table is written."""

    text = "text"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    json = "json"


class By(StrEnum):
    """What a row is."""

    level = "level"
    problem = "problem"


def results_command(
    run: Run = None,
    by: Annotated[By, typer.Option(help="A row a level, model and tier; or a row a job.")] = By.level,
    form: Annotated[Form, typer.Option("--format", help="csv and json keep every digit; markdown and latex are for a paper.")] = Form.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """What the models of a sweep reached: correct, fast_1, speedups, tokens, money, with every planned problem counted."""
    from popcorn.cli.listing import width_here
    from popcorn.errors import BadSweep
    from popcorn.sweep.folder import find_sweep
    from popcorn.sweep.results import MEANING, by_level, by_problem, results

    folder = find_sweep(run)
    if folder.spec().matrix.kind == "ops":
        raise BadSweep(f"{folder.path} measured ops, which have no models; see `popcorn bench view`.")
    plan, attempts, standings = results(folder)
    rows = by_level(standings) if by is By.level else by_problem(attempts)
    if as_json or form is Form.json:
        print(
            json.dumps({"sweep": plan.matrix.name, "jobs": len(plan.jobs), "missing": len(plan.missing), "rows": rows, "meaning": MEANING})
        )
        return
    if not rows:
        typer.echo("no job has ended yet; `popcorn sweep status` says what is under way", err=True)
        raise typer.Exit(1)
    print(WRITERS[form](rows), end="")
    if by is By.level and form is not Form.csv:
        mark = "% " if form is Form.latex else ""
        print("\n" + textwrap.fill(MEANING, width_here(60, 100), initial_indent=mark, subsequent_indent=mark))
    if plan.missing:
        typer.echo(f"not finished: {len(plan.missing):,} of {len(plan.jobs):,} jobs are missing", err=True)


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

    names = [name for name in rows[0] if name not in ("speedup_mean_correct", "tokens", "run")]
    right = [index for index, name in enumerate(names) if not isinstance(rows[0][name], str)]
    cells = [[shown(name, row[name]) for name in names] for row in rows]
    return "\n".join(lay_out([heading(name) for name in names], cells, width_here(60, 100), (0, 1), right)) + "\n"


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


WRITERS = {Form.text: as_text, Form.csv: as_csv, Form.markdown: as_markdown, Form.latex: as_latex}
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
