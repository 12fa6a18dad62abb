"""`popcorn problems check`: is a problem fit to judge anything?"""

import json
from typing import Annotated

import typer

from popcorn.suites.problems import find_problem, list_problems


def check_command(
    problem: Annotated[str | None, typer.Argument(help="id such as popcorn/L1/29, or the path of a .py file")] = None,
    every: Annotated[bool, typer.Option("--all", help="every problem that ships with Popcorn")] = False,
    suite: Annotated[str | None, typer.Option(help="every problem of an imported suite, or of popcorn or original")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX")] = "auto",
    workers: Annotated[int, typer.Option(min=1, max=64, help="problems examined at once on a machine without GPU")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON array instead of a table")] = False,
) -> None:
    """Is a problem fit to judge anything? Trivial answers must fail, every input and weight must matter. Exit code 1 where one is unfit."""
    from popcorn.cli.listing import lay_out, width_here
    from popcorn.cli.plain import plain
    from popcorn.cli.progress import progress_line
    from popcorn.errors import UnknownProblem
    from popcorn.worker.bench import Bench
    from popcorn.worker.fitness import check_fitness

    if [problem is not None, every, suite is not None].count(True) != 1:
        raise UnknownProblem("give one problem, or --all for every problem that ships with Popcorn, or --suite NAME for one suite")
    if suite in ("popcorn", "original"):
        wanted = list_problems(suite)
    elif suite is not None:
        from popcorn.suites.shelved import list_shelved

        wanted = list_shelved(suite)
    else:
        wanted = list_problems() if every else [find_problem(problem or "")]
    with progress_line() as progress, Bench(device) as bench:
        told = check_fitness(wanted, bench, workers, progress)
    if as_json:
        typer.echo(json.dumps([one.as_row() for one in told], indent=1, ensure_ascii=False))
    else:
        rows = [(one.problem.id, "yes" if one.fit else "NO", one.bound, one.time, plain(one.remark(), 2000)) for one in told]
        headings = ("id", "fit", "bound here", "time here", "what is wrong, or worth knowing")
        for line in lay_out(headings, rows, width_here(), folding=(0, 4)):
            typer.echo(line)
        unfit = sum(not one.fit for one in told)
        if len(told) > 1:
            typer.echo(f"{len(told) - unfit} of {len(told)} are fit; {sum(one.seconds for one in told):.0f} s of examining")
    raise typer.Exit(0 if all(one.fit for one in told) else 1)
