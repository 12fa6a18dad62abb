"""`popcorn eval PROBLEM FOLDER --watch`: every kernel that appears in a folder is judged, whoever writes there; one Run of it all."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from popcorn.cli.plain import plain
from popcorn.errors import MissingFile
from popcorn.suites.problems import Problem

if TYPE_CHECKING:
    from popcorn.agents.external import External
    from popcorn.agents.place import Place
    from popcorn.agents.tools.answer import Answer


def open_external(problem: Problem, model: str, language: str, device: str, budget_s: float, runs: Path) -> "tuple[External, Place]":
    """A run of an agent that is not ours, on this device."""
    from popcorn.agents.external import External
    from popcorn.agents.place import open_place
    from popcorn.agents.workbench import Settings, Workbench

    place = open_place(device)
    gpu = place.machine().kind == "cuda"
    place.check(problem)
    settings = Settings(language=("cuda" if gpu else "c") if language == "auto" else language, budget_s=budget_s)
    return External(Workbench(place, problem, settings), model, runs), place


def watch_folder(problem: Problem, folder: Path, model: str, language: str | None, device: str, budget_s: float) -> None:
    """Judge what appears until Ctrl-C, or until a file named `final` was judged in full."""
    from rich.console import Console
    from rich.text import Text

    from popcorn.agents.external import watch
    from popcorn.agents.place import runs_folder

    if not folder.is_dir():
        raise MissingFile(f"{folder} is not a folder; --watch takes the folder where kernel files appear.")
    console = Console(highlight=False, emoji=False)
    external, place = open_external(problem, model, language or "auto", device, budget_s, runs_folder())
    console.print(
        Text(f"watching {folder} for {problem.id} in {external.run.language}; a file named final.* ends the run {external.run.id}")
    )

    def told(path: Path, answer: "Answer") -> None:
        console.print(Text(plain(path.name, 60), style="bold"))
        for line in answer.text.splitlines():
            console.print(Text("  " + plain(line, 200)), width=min(console.width, 100))

    def left_out(path: Path, why: str) -> None:
        console.print(Text(f"not judged: {plain(why, 200)}", style="yellow"))

    try:
        asyncio.run(watch(external, folder, told, lambda: external.run.ended_by is not None, left_out=left_out))
    finally:
        place.engine.close()
