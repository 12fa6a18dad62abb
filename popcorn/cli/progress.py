"""Progress on stderr: a spinner with the time and what is being done now for a person who watches; elsewhere a line every few seconds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from popcorn.cli.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

EVERY_S = 5.0


@contextmanager
def progress_line(title: str = "") -> Iterator[Callable[[str], None]]:
    """A function that says what is done now. It may be called from any thread."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(title, console)
        return
    bar = Progress(SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False), console=console, transient=True)
    with bar:
        task = bar.add_task(plain(f"{title} starting", 90), total=None)
        yield lambda message: bar.update(task, description=plain(f"{title} {message}", 90))


def _lines(title: str, console: "Console") -> Callable[[str], None]:
    """For a pipe or a log: the first message, then the newest after every few seconds, each with the time so far."""
    began = time.monotonic()
    said = -EVERY_S

    def say(message: str) -> None:
        nonlocal said
        now = time.monotonic() - began
        if now - said >= EVERY_S:
            said = now
            console.print(f"{now:4.0f} s  " + plain(f"{title} {message}", 100), markup=False, highlight=False, soft_wrap=True)

    return say
