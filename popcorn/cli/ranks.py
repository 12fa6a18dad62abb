"""`popcorn ranks PROBLEM [FILE]`: a problem of communication, on N real processes."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from popcorn.suites.problems import find_problem
from popcorn.units import show_time

SKIPPED = 40
"""Exit code where fewer devices exist than the problem needs."""


def run_ranks_command(
    problem: Annotated[str, typer.Argument(help="id such as popcorn/L2/2")],
    file: Annotated[str | None, typer.Argument(help="the candidate: .py with ModelNew, whose forward takes the process group last")] = None,
    world: Annotated[int, typer.Option(min=1, max=64, help="processes")] = 2,
    device: Annotated[str, typer.Option(help="auto (GPUs over NCCL where there are any, else Gloo) or cpu")] = "auto",
    timeout: Annotated[float, typer.Option(min=1, help="longest that one launch of a group may take, in seconds")] = 180.0,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Judge and time a kernel that communicates.

    Without FILE: whether the problem itself is fit. NCCL on GPUs, Gloo on CPUs; skipped, with the reason and exit code 40, where fewer GPUs exist; never run on one process.
    """
    from popcorn.cli.eval import read_candidate
    from popcorn.cli.plain import plain
    from popcorn.schema.verdict import EXIT_CODES
    from popcorn.worker.ranks import run_ranks

    found = find_problem(problem)
    answer = run_ranks(found, read_candidate(file) if file else None, world, device, timeout)
    if as_json:
        typer.echo(json.dumps({"problem": found.id, "hash": found.hash, **asdict(answer)}, ensure_ascii=False))
    else:
        typer.echo(f"{found.id} on {answer.world} processes over {answer.backend}: {answer.outcome}")
        if answer.reason:
            typer.echo(f"  {plain(answer.reason, 500)}")
        if answer.reference_s is not None:
            typer.echo(f"  reference {show_time(answer.reference_s)} a call, the slowest rank's; mean error {answer.mean_error:.1e}")
        if answer.time_s and answer.reference_s is not None:
            typer.echo(
                f"  candidate {show_time(answer.time_s)} a call: {answer.reference_s / answer.time_s:.2f} times as fast (ranks' own clocks)"
            )
    raise typer.Exit(SKIPPED if answer.outcome == "skipped" else EXIT_CODES[answer.outcome])  # type: ignore[index]
