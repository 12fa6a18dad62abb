"""`popcorn bench`: measure ops of the library (`run`; `fill` is in bench_fill.py); what is known lies with bench_stores.py."""

from pathlib import Path
from typing import Annotated

import typer

from popcorn.cli import bench_stores
from popcorn.cli.bench_fill import AsJson, Budget, Device, Names, OptionalPort, fill_command, fill_rows

app = typer.Typer(help="Measure the library's ops; view, compare, merge what is known.", no_args_is_help=True, add_completion=False,
                  rich_markup_mode=None)  # fmt: skip

bench_stores.add_to(app)

app.command("fill", cls=OptionalPort)(fill_command)


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
    as_json: AsJson = False,
) -> None:
    """Judge and measure one case of an op, or every call of a workload, for each implementation that takes it."""
    from popcorn.bench import asking, measure_call, report, say, shared_bench
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
        fill_rows(workload_rows(captured, shared_bench(device).machine, implementation, progress), settings, progress, as_json=as_json)
        return
    if op is None:
        raise typer.BadParameter("give an op and its sizes, or --workload FILE")
    found = find_op(op)
    case = asking.case_of(found, sizes or [], dtype, layout)
    call = asking.call_of(case, shared_bench(device).machine.kind)
    for result in measure_call(found, call, implementation, backward and found.differentiable, settings, default_store(), say):
        if as_json:
            for record in (result.forward, result.training):
                if record is not None:
                    typer.echo(record.model_dump_json())
        else:
            report(result)
