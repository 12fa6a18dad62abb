"""`popcorn ops`: the library's ops, or one of them: signature, implementations, and why dispatch would choose what it would."""

from typing import Annotated

import typer


def show_ops(
    op: Annotated[str | None, typer.Argument(help="One op; all of them when left out.")] = None,
    explain: Annotated[str | None, typer.Option(help="Sizes of a call, 'R=4096 D=1024': what would carry it out, and why.")] = None,
    dtype: Annotated[str, typer.Option(help="Element type of that call.")] = "float32",
    layout: Annotated[str, typer.Option(help="Its layout: contiguous, transposed, sliced or expanded.")] = "contiguous",
    backward: Annotated[bool, typer.Option("--backward", help="With gradients.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """The library's ops: list them, show one, explain a choice."""
    from popcorn.ops.registry import find_op, list_ops

    if op is None:
        for name in list_ops():
            found = find_op(name)
            typer.echo(f"{name:20} {_signature(found)}")
        return
    found = find_op(op)
    if explain is None:
        _show(found)
        return
    from popcorn.dispatch import CHOOSER
    from popcorn.ops.calls import Call

    given = dict(part.partition("=")[::2] for part in explain.split())
    if not set(given) <= set(found.signature.dims) or not given or not all(value.isdigit() for value in given.values()):
        raise typer.BadParameter(f"{op} has the sizes {', '.join(found.signature.dims)}; give each as NAME=NUMBER", param_hint="--explain")
    call = Call({n: int(v) for n, v in given.items()}, dtype, device, found.signature.scalars, layout, backward)  # type: ignore[arg-type]
    typer.echo(str(CHOOSER.explain(found, call)))


def _signature(op: object) -> str:
    signature = op.signature  # type: ignore[attr-defined]
    tensors = {spec.name: f"{spec.name} ({' '.join(spec.sizes)})" for spec in signature.inputs}
    arguments = [tensors.get(name) or f"{name}={signature.scalars[name]!r}" for name in signature.names]
    results = ", ".join(f"({' '.join(spec.sizes)})" for spec in signature.outputs)
    return f"{', '.join(arguments)} → {results}"


def _show(op: object) -> None:
    from popcorn.ops.calls import Call, Rejected
    from popcorn.ops.registry import Op

    assert isinstance(op, Op)
    typer.echo(f"{op.name}  {_signature(op)}\n")
    for name, one in op.implementations.items():
        answers = [one.accepts(Call({}, "float32", device, gradient=op.differentiable)) for device in ("cpu", "cuda")]
        where = [device for device, answer in zip(("cpu", "cuda"), answers, strict=True) if not isinstance(answer, Rejected)]
        first = next((answer.reason for answer in answers if isinstance(answer, Rejected)), "")
        typer.echo(f"  {name:10} {one.language:8} {', '.join(where) or f'not here: {first}'}")
