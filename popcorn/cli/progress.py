"""Progress on stderr: a spinner with the time and what is being done now for a person who watches; elsewhere a line every few seconds."""

import threading
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
        lines = _Lines(title, console)
        try:
            yield lines.say
        finally:
            lines.end()
        return
    bar = Progress(SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False), console=console, transient=True)
    with bar:
        task = bar.add_task(plain(f"{title} starting", 90), total=None)
        yield lambda message: bar.update(task, description=plain(f"{title} {message}", 90))


class _Lines:
    """For a pipe or a log: the first message, then the newest after every few seconds, each with the time when it was said. A message that is followed
    by silence is shown, too: what takes long is what a reader waits for."""

    def __init__(self, title: str, console: "Console") -> None:
        self._title, self._console, self._began = title, console, time.monotonic()
        self._lock = threading.Lock()
        self._shown_s = -EVERY_S
        self._waiting: tuple[float, str] | None = None
        self._timer: threading.Timer | None = None

    def say(self, message: str) -> None:
        """Show it now, or when the time has come, unless a newer one has taken its place."""
        with self._lock:
            now = time.monotonic() - self._began
            self._waiting = (now, message)
            if now - self._shown_s >= EVERY_S:
                self._show()
            elif self._timer is None:
                self._timer = threading.Timer(EVERY_S - (now - self._shown_s), self._later)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """Show nothing more."""
        with self._lock:
            self._waiting = None
            if self._timer is not None:
                self._timer.cancel()

    def _later(self) -> None:
        with self._lock:
            self._timer = None
            if self._waiting is not None:
                self._show()

    def _show(self) -> None:
        assert self._waiting is not None
        said_s, message = self._waiting
        self._waiting, self._shown_s = None, time.monotonic() - self._began
        self._console.print(f"{said_s:4.0f} s  " + plain(f"{self._title} {message}", 100), markup=False, highlight=False, soft_wrap=True)
