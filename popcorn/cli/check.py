"""`popcorn check FILE`: what a candidate's text shows before it runs. Advice; a verdict comes from `popcorn eval`."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from popcorn.reading import read_kernel
from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import check_contract, detect_language, is_python
from popcorn.verify.static.check import check_text, refusals


def check(
    file: Annotated[str, typer.Argument(help="The candidate: .py, .c, .cpp or .cu.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array, and nothing else.")] = False,
) -> None:
    """What a candidate's text shows before it runs.

    Line by line, with the rule and the reason.

    The exit code is 1 where something is found that no honest kernel needs, else 0.
    """
    source = read_kernel(Path(file))
    language, python = detect_language(file, source), is_python(file, source)
    remarks = check_text(source, python)
    if json:
        print(json_text.dumps([one.model_dump() for one in remarks], indent=1, ensure_ascii=False))
    else:
        from rich.table import Table
        from rich.text import Text

        from popcorn.cli.printing import print_within

        table = Table(box=None, pad_edge=False, show_header=False)
        for one in remarks:
            table.add_row(*(Text(cell) for cell in (str(one.line), one.weight, one.rule, one.what, one.why)))
        told = None if remarks else "nothing worth a look"
        try:
            check_contract(source, language, python)
        except CompileFailed as failed:
            told = f"cannot be judged yet: {failed.reason}"
        if told:
            print_within(Text(told))
        if remarks:
            print_within(table)
    raise typer.Exit(1 if refusals(remarks) else 0)
