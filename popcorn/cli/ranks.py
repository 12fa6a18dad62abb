"""`popcorn ranks PROBLEM [FILE]`: a problem of communication, on N real processes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from popcorn.errors import BadProblem
from popcorn.suites.problems import facts, find_problem
from popcorn.units import show_time

SKIPPED = 40
"""Exit code where fewer devices exist than the problem needs: that of a rejected candidate."""


def run_ranks_command(
    problem: Annotated[str, typer.Argument(help="id such as popcorn/L2/2")],
    file: Annotated[str | None, typer.Argument(help="the candidate: .py with ModelNew, whose forward takes the process group last")] = None,
    world: Annotated[int | None, typer.Option(min=1, max=64, help="processes; default: every GPU, or 2 without")] = None,
    device: Annotated[str, typer.Option(help="auto (GPUs over NCCL where there are any, else Gloo) or cpu")] = "auto",
    timeout: Annotated[float, typer.Option(min=1, help="longest that one launch of a group may take, in seconds")] = 180.0,
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="with FILE: three rounds of groups, two below a second")] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object: with FILE the record")] = False,
) -> None:
    """Judge and time a kernel that communicates.

    With FILE: a record and its card, as from `popcorn eval`, which does the same.

    Without FILE: whether the problem itself is fit. NCCL on GPUs, Gloo on CPUs; refused, with the reason and exit code 40, where fewer GPUs exist;
    never run on one process.
    """
    from popcorn.cli.eval import judge, show
    from popcorn.cli.plain import plain
    from popcorn.reading import read_kernel
    from popcorn.schema.verdict import EXIT_CODES
    from popcorn.toolchain.languages import detect_language
    from popcorn.worker.ranks import examine_ranks
    from popcorn.worker.request import Request

    found = find_problem(problem)
    if facts(found).ranks is None:
        raise BadProblem(f"{found.id} runs in one process; judge it with `popcorn eval {found.id} {file or 'FILE'}`")
    if file is not None:
        source = read_kernel(Path(file))
        request = Request(
            problem=found, source=source, language=detect_language(file, source, None), name=Path(file).name, device=device, budget_s=budget,
            timeout_s=timeout / 3, world=world,
        )  # fmt: skip
        return show(judge(request), as_json)
    answer = examine_ranks(found, world, device, timeout)
    if as_json:
        typer.echo(json.dumps({"problem": found.id, "hash": found.hash, **asdict(answer)}, ensure_ascii=False))
    else:
        typer.echo(f"{found.id} on {answer.world} processes over {answer.backend}: {answer.outcome}")
        if answer.reason:
            typer.echo(f"  {plain(answer.reason, 500)}")
        if answer.reference_s is not None:
            typer.echo(f"  reference {show_time(answer.reference_s)} a call, by the parent's clock; mean error {answer.mean_error:.1e}")
    raise typer.Exit(SKIPPED if answer.outcome == "skipped" else EXIT_CODES[answer.outcome])  # type: ignore[index]
