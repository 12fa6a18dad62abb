"""`popcorn bench fill`: measure what is missing of an op's cases, and what `run --workload` measures likewise."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

Names = Annotated[list[str] | None, typer.Option("--implementation", help="Only these implementations; repeat for several.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")]
Budget = Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of taking turns for each row.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a record, a line each, and nothing else.")]


class OptionalPort(TyperCommand):
    """`--live` alone means the usual port, as `--live 9000` means that one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments with the port written out."""
        from popcorn.site.live import PORT

        at = args.index("--live") if "--live" in args else None
        if at is not None and not (at + 1 < len(args) and args[at + 1].isdigit()):
            args = [*args[: at + 1], str(PORT), *args[at + 1 :]]
        return super().parse_args(ctx, args)


def fill_command(
    ops: Annotated[list[str] | None, typer.Argument(help="Ops; all of them when left out.")] = None,
    implementation: Names = None,
    dtype: Annotated[list[str] | None, typer.Option(help="Element types; float32 and bfloat16 when left out.")] = None,
    only: Annotated[str | None, typer.Option("--slice", help="'AXIS dtype=… SIZE=…': one size varies, the rest is fixed.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many cases of each op, the same ones every time.")] = None,
    curves: Annotated[bool, typer.Option("--curves-only", help="Leave the coverage out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Measure again what is known.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Longest that one command of a row may take, in seconds.")] = 60.0,
    judge_only: Annotated[bool, typer.Option("--judge-only", help="Show correctness; take no times.")] = False,
    within: Annotated[float, typer.Option(min=0, help="Begin no row after so many seconds.")] = float("inf"),
    again: Annotated[
        int, typer.Option(min=0, max=5, help="Measure rows again, at the end, whose controls did not pass: so many times.")
    ] = 0,
    largest: Annotated[float | None, typer.Option(min=0, help="Leave out cases that move more megabytes than this, at least.")] = None,
    live: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve the rows to the explorer on this port of 127.0.0.1; --live alone: 8765.")
    ] = None,
    device: Device = "auto",
    budget: Budget = 1.0,
    as_json: AsJson = False,
) -> None:
    """Measure every case that the store lacks, smaller first. Stop it and start it again: what is done is done."""
    from popcorn.bench import shared_bench
    from popcorn.bench.asking import Settings
    from popcorn.bench.fill import Progress, plan_rows
    from popcorn.ops.registry import find_op, list_ops
    from popcorn.records.store import default_store
    from popcorn.schema.case import Precision

    default_store().check_writable()
    progress = Progress()
    settings = Settings(device=device, budget_s=budget, timeout_s=timeout, timing=not judge_only)
    chosen = [find_op(name) for name in ops or list_ops()]
    kinds: Any = dtype or ("float32", "bfloat16")
    for kind in kinds:
        if kind not in get_args(Precision):
            raise typer.BadParameter(f"{kind!r} is not one of {', '.join(get_args(Precision))}", param_hint="--dtype")
    known = sorted({name for one in chosen for name in one.implementations})
    for name in implementation or ():
        if name not in known:
            raise typer.BadParameter(f"{name!r} carries out none of these ops; they have {', '.join(known)}", param_hint="--implementation")
    machine, most = shared_bench(device).machine, largest and largest * 1e6
    rows = plan_rows(chosen, machine, implementation, only, limit, kinds, curves, progress, most)
    fill_rows(rows, settings, progress, force, live, within, again, as_json)


def fill_rows(
    rows: list[Any],
    settings: Any,
    progress: Any,
    force: bool = False,
    live: int | None = None,
    within: float = float("inf"),
    again: int = 0,
    as_json: bool = False,
) -> None:
    """Measure what is missing, a line or a record a row, and serve the rows where asked to."""
    from popcorn.bench import shared_bench
    from popcorn.bench.fill import cached_rows, fill
    from popcorn.records.store import default_store
    from popcorn.site.streaming import Stream
    from popcorn.units import show_time

    store = default_store()
    for who, reason in sorted(progress.refused.items()):
        typer.echo(f"left out: {who} {reason}", err=True)
    if not rows:
        typer.echo("nothing to measure: no implementation takes a case here; the reasons stand above", err=True)
        raise typer.Exit(1)
    with Stream(live) if live is not None else nullcontext() as stream:
        if stream is not None:
            typer.echo(f"rows at http://127.0.0.1:{stream.port}/events until this ends", err=True)
            for record in () if force else cached_rows(rows, store, shared_bench(settings.device).machine):
                stream.send(record)
        tell: Callable[[str], None] = (lambda line: None) if as_json else typer.echo
        for record in fill(rows, store, settings, force, progress, tell, within, again):
            if as_json:
                typer.echo(record.model_dump_json())
            if stream is not None:
                stream.send(record)
            known = progress.known + progress.done + progress.pruned
            typer.echo(f"  {known} of {progress.planned}, {show_time(progress.eta_s)} to go", err=True)
    told = [f"{progress.done} measured", f"{progress.known} known before", f"{progress.pruned} beyond what failed"]
    told += [f"{progress.again} measured again"] * bool(progress.again)
    told += [f"{progress.unfit} with controls that did not pass (--again 1 tries once more)"] * bool(progress.unfit)
    told += [f"{progress.left} not begun: the time was up, and the same command goes on"] * bool(progress.left)
    typer.echo(", ".join(told), err=True)
