"""The progress line: a spinner, the time so far and what is being done now, on stderr, and only where a person watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from popcorn.cli.plain import plain


@contextmanager
def progress_line(title: str = "") -> Iterator[Callable[[str], None]]:
    """A function that says what is done now. It may be called from any thread; it says nothing when stderr is no terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    bar = Progress(SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False), console=console, transient=True)
    with bar:
        task = bar.add_task(plain(f"{title} starting", 90), total=None)
        yield lambda message: bar.update(task, description=plain(f"{title} {message}", 90))
