"""`popcorn adopt RUN`: a kernel that was found becomes an implementation of an op."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer


def adopt_run(
    run: Annotated[str, typer.Argument(help="A search, an agent's run, a record, or a kernel file.")],
    op: Annotated[str | None, typer.Option(help="The op; else the one that the problem is named for.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the implementation; else evolve_<hash>.")] = None,
    into: Annotated[Path | None, typer.Option(help="A checkout of Popcorn to write into.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many cases; the whole plan when left out.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    budget: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of taking turns for each row.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Make a kernel that was found an implementation of an op.

    It is judged on the op's case plan and gradient modes in the sandbox, written with what it takes, measured, and dispatched where it
    is fastest; or refused with the reason (exit code 1). Adopting is installing: afterwards the text runs in your own processes.
    """
    from popcorn.bench.asking import Settings
    from popcorn.records.store import default_store
    from popcorn.search.adopt import adopt
    from popcorn.search.winners import find_winner

    store = default_store()
    store.check_writable()
    winner = find_winner(run, store)
    settings = Settings(device=device, budget_s=budget)
    made = adopt(winner, store, op=op, name=name, into=into, limit=limit, settings=settings, tell=lambda line: typer.echo(line, err=json))
    found = made.assumptions
    if json:
        data = {
            "op": made.op, "name": made.name, "refusal": made.refusal, "files": [str(path) for path in made.files], "chosen": made.chosen,
            "precisions": found.precisions, "gradient": found.gradient, "gradients": found.gradients, "multiples": found.multiples, "bounds": found.bounds, "scalars": found.fixed,
            "left_out": found.left_out, "records": [record.id for record in made.records],
        }  # fmt: skip
        print(json_text.dumps(data))
    elif made.refusal is not None:
        typer.echo(f"\n{made.op} does not take it: {made.refusal}")
        typer.echo(
            "next        " + ("leave --limit out, so that all cases are tried; or " if limit else "") + "judge one of them: popcorn eval"
        )
    else:
        limits = {
            **{n: f"multiples of {k}" for n, k in found.multiples.items()},
            **{n: f"{a} to {b}" for n, (a, b) in found.bounds.items()},
            **{n: f"{value:g} alone" for n, value in found.fixed.items()},
        }
        typer.echo(f"\n{made.op} has the implementation {made.name}")
        takes = ", ".join(
            [
                *found.precisions,
                f"with gradients in {' and '.join(found.gradients)}" if found.gradient else "forward alone",
                *(f"{n} {t}" for n, t in limits.items()),
            ]
        )
        typer.echo(f"takes       {takes}")
        typer.echo(f"fastest at  {len(made.chosen)} of {len(made.records)} measured cases; there calls of {made.op} go to it now")
        for line in found.left_out:
            typer.echo(f"left out    {line}")
        for path in made.files:
            typer.echo(f"file        {path}")
    raise typer.Exit(1 if made.refusal is not None else 0)
