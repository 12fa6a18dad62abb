"""`popcorn bench`: measure ops of the library (`run`, `fill`); what is known lies with bench_stores.py."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from popcorn.cli import bench_stores

app = typer.Typer(help="Measure the library's ops; view, compare, merge what is known.", no_args_is_help=True, add_completion=False,
                  rich_markup_mode=None)  # fmt: skip

bench_stores.add_to(app)

Names = Annotated[list[str] | None, typer.Option("--implementation", help="Only these implementations; repeat for several.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")]
Budget = Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of taking turns for each row.")]


@app.command("run")
def run_command(
    op: Annotated[str | None, typer.Argument(help="An op, such as rms_norm.")] = None,
    sizes: Annotated[list[str] | None, typer.Argument(help="A size each, such as R=4096 D=1024.")] = None,
    workload: Annotated[Path | None, typer.Option(help="Instead: the calls that popcorn.capture() saved.")] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16, float64.")] = "float32",
    layout: Annotated[str, typer.Option(help="contiguous, transposed or sliced.")] = "contiguous",
    backward: Annotated[bool, typer.Option("--backward/--forward", help="Also with gradients.")] = True,
    implementation: Names = None,
    device: Device = "auto",
    budget: Budget = 1.0,
) -> None:
    """Judge and measure one case of an op, or every call of a workload, for each implementation that takes it."""
    from popcorn.bench import asking, measure_call, report, shared_bench
    from popcorn.bench.fill import Progress, workload_rows
    from popcorn.ops.registry import find_op
    from popcorn.records.store import default_store

    settings = asking.Settings(device=device, budget_s=budget)
    if workload is not None:
        from popcorn.ops.capturing import read_workload

        if op is not None:
            raise typer.BadParameter("--workload names its ops and sizes itself; leave them out")
        captured, progress = read_workload(workload), Progress()
        for one in captured.left_out:
            typer.echo(f"left out: {one.count} calls of {one.op}: {one.reason}", err=True)
        _fill(workload_rows(captured, shared_bench(device).machine, implementation, progress), settings, progress)
        return
    if op is None:
        raise typer.BadParameter("give an op and its sizes, or --workload FILE")
    found = find_op(op)
    case = asking.case_of(found, sizes or [], dtype, layout)
    call = asking.call_of(case, shared_bench(device).machine.kind)
    for result in measure_call(found, call, implementation, backward and found.differentiable, settings, default_store()):
        report(result)


class OptionalPort(TyperCommand):
    """`--live` alone means the usual port, as `--live 9000` means that one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments with the port written out."""
        from popcorn.site.live import PORT

        at = args.index("--live") if "--live" in args else None
        if at is not None and not (at + 1 < len(args) and args[at + 1].isdigit()):
            args = [*args[: at + 1], str(PORT), *args[at + 1 :]]
        return super().parse_args(ctx, args)


@app.command("fill", cls=OptionalPort)
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
) -> None:
    """Measure every case that the store lacks, smaller first. Stop it and start it again: what is done is done."""
    from popcorn.bench import shared_bench
    from popcorn.bench.asking import Settings
    from popcorn.bench.fill import Progress, plan_rows
    from popcorn.ops.registry import find_op, list_ops
    from popcorn.records.store import default_store

    default_store().check_writable()
    progress = Progress()
    settings = Settings(device=device, budget_s=budget, timeout_s=timeout, timing=not judge_only)
    chosen = [find_op(name) for name in ops or list_ops()]
    kinds: Any = dtype or ("float32", "bfloat16")
    machine, most = shared_bench(device).machine, largest and largest * 1e6
    rows = plan_rows(chosen, machine, implementation, only, limit, kinds, curves, progress, most)
    _fill(rows, settings, progress, force, live, within, again)


def _fill(
    rows: list[Any],
    settings: Any,
    progress: Any,
    force: bool = False,
    live: int | None = None,
    within: float = float("inf"),
    again: int = 0,
) -> None:
    """Measure what is missing, a line a row, and serve the rows where asked to."""
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
        for record in fill(rows, store, settings, force, progress, typer.echo, within, again):
            if stream is not None:
                stream.send(record)
            known = progress.known + progress.done + progress.pruned
            typer.echo(f"  {known} of {progress.planned}, {show_time(progress.eta_s)} to go", err=True)
    told = [f"{progress.done} measured", f"{progress.known} known before", f"{progress.pruned} beyond what failed"]
    told += [f"{progress.again} measured again"] * bool(progress.again)
    told += [f"{progress.unfit} with controls that did not pass (--again 1 tries once more)"] * bool(progress.unfit)
    told += [f"{progress.left} not begun: the time was up, and the same command goes on"] * bool(progress.left)
    typer.echo(", ".join(told), err=True)
