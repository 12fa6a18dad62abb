"""`popcorn problems export`: a problem in the form that FlashInfer-Bench and SOL-ExecBench read."""

from pathlib import Path
from typing import Annotated

import typer

from popcorn.suites.problems import find_problem


def export_command(
    problem: Annotated[str, typer.Argument(help="id such as popcorn/L1/29, or the path of a .py file")],
    folder: Annotated[str, typer.Argument(help="folder to write to; made where it is not there")],
    records: Annotated[bool, typer.Option("--records", help="also the candidates judged on it here, as solutions and traces")] = False,
) -> None:
    """Write a problem as definition.json and workload.jsonl, with --records solutions and traces, too."""
    from popcorn.records.store import default_store
    from popcorn.suites.exporting import export_problem

    found = find_problem(problem)
    judged = [one for one in default_store().find(problem=found.id) if one.subject.problem_hash == found.hash] if records else []
    written = export_problem(found, Path(folder).expanduser(), judged)
    typer.echo(
        f"{found.id}: a definition, {written['workloads']} workloads, {written['solutions']} solutions, {written['traces']} traces in {folder}"
    )
