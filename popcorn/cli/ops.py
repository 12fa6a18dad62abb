"""`popcorn ops`: the library's ops, or one of them: signature, implementations, and why dispatch would choose what it would."""

import dataclasses
import json as json_text
import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from popcorn.ops.registry import Op


def show_ops(
    op: Annotated[str | None, typer.Argument(help="One op; all of them when left out.")] = None,
    explain: Annotated[str | None, typer.Option(help="Sizes of a call, 'R=4096 D=1024': what would carry it out, and why.")] = None,
    dtype: Annotated[str, typer.Option(help="Element type of that call.")] = "float32",
    layout: Annotated[str, typer.Option(help="Its layout: contiguous, transposed, sliced or expanded.")] = "contiguous",
    backward: Annotated[bool, typer.Option("--backward", help="With gradients.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    new: Annotated[str | None, typer.Option(help="Name of an op to begin: its folder, with a reference and C++ that work.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """The library's ops: see them, explain a choice, begin one."""
    from popcorn.ops.registry import find_op, list_ops

    if new is not None:
        _begin(new)
        return
    if op is None and explain is not None:
        raise typer.BadParameter("name the op, too: popcorn ops OP --explain SIZES", param_hint="--explain")
    if json and explain is None:
        _print_json([find_op(name) for name in ([op] if op else list_ops())])
        return
    if op is None:
        for name in list_ops():
            whole = re.sub(r"\([^)]*\)", lambda sizes: sizes[0].replace(" ", "\xa0"), _signature(find_op(name)))
            _fold(f"{name:21} {whole}", 22)
        return
    found = find_op(op)
    if explain is None:
        _show(found)
        return
    from popcorn.bench.asking import case_of
    from popcorn.dispatch import CHOOSER
    from popcorn.ops.calls import Call

    if device not in ("cpu", "cuda"):
        raise typer.BadParameter(f"{device!r} is not one of cpu, cuda", param_hint="--device")
    case = case_of(found, re.split(r"[\s,]+", explain.strip()), dtype, layout)
    call = Call(case.dims, case.precision, device, case.scalars, case.layout, backward)
    explained = CHOOSER.explain(found, call)
    if json:
        typer.echo(json_text.dumps(dataclasses.asdict(explained), indent=1, default=str))
        return
    for line in str(explained).splitlines():
        whole = re.sub(r"(?:pip install|popcorn bench fill) [^;,]*", lambda command: command[0].replace(" ", "\xa0"), line)  # to be copied
        _fold(whole, 13)


def _fold(line: str, indent: int) -> None:
    """The line at this terminal's width; what goes on stands below what began."""
    from popcorn.cli.listing import width_here

    folded = textwrap.fill(line, width_here(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    typer.echo(folded.replace("\xa0", " "))


def _begin(name: str) -> None:
    from pathlib import Path

    from popcorn.ops.starting import start_op

    told = ("signature, least bytes, flops, cases", "what is right", "how it is called", "forward and backward")
    files = start_op(name)
    here = Path.cwd()
    shown = [str(file.relative_to(here)) if file.is_relative_to(here) else str(file) for file in files]
    for file, what in zip(shown, told, strict=True):
        typer.echo(f"{file:{max(map(len, shown))}}  {what}")
    typer.echo(
        f"next: pytest tests/ops -k {name}\n      popcorn bench fill {name} --limit 2\n      popcorn bench view {name}\n      docs/adding.md"
    )


def _signature(op: "Op") -> str:
    signature = op.signature
    tensors = {spec.name: f"{spec.name} ({' '.join(spec.sizes)})" for spec in signature.inputs}
    arguments = [tensors.get(name) or f"{name}={signature.scalars[name]!r}" for name in signature.names]
    results = ", ".join(f"({' '.join(spec.sizes)})" for spec in signature.outputs)
    return f"{', '.join(arguments)} → {results}"


def _show(op: "Op") -> None:
    typer.echo(f"{op.name}  {_signature(op)}\n")
    rows = list(_implementations(op))
    wide = max(len(name) for name, *_ in rows)
    for name, language, where, refusals in rows:
        told = f"  {name:{wide}}  {language if where else '—':8} {', '.join(where) or f'not here: {next(iter(refusals.values()))}'}"
        _fold(told, wide + 13)


def _print_json(ops: "list[Op]") -> None:
    names = ("name", "language", "devices", "refusals")
    found = [
        {"op": op.name, "signature": _signature(op), "differentiable": op.differentiable,
         "implementations": [dict(zip(names, row, strict=True)) for row in _implementations(op)]}
        for op in ops
    ]  # fmt: skip
    typer.echo(json_text.dumps(found, indent=1))


def _implementations(op: "Op") -> Iterator[tuple[str, str, list[str], dict[str, str]]]:
    """Name, language, the devices where it takes some call, and of the others why not."""
    from popcorn.ops.calls import Call, Rejected

    kinds = [(precision, gradient) for precision in ("float32", "bfloat16") for gradient in {op.differentiable, False}]
    for name, one in op.implementations.items():
        answers = {
            device: [one.accepts(Call({}, precision, device, gradient=gradient)) for precision, gradient in kinds]
            for device in ("cpu", "cuda")
        }
        where = [device for device, given in answers.items() if any(given)]
        refusals = {device: given[0].reason for device, given in answers.items() if device not in where and isinstance(given[0], Rejected)}
        yield name, one.language, where, refusals
