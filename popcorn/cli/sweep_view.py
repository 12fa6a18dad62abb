"""The live view of a sweep that runs in this process: drawn by a thread from the sweep's folder, as a watcher elsewhere would."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live

from popcorn.cli.sweeping import console
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.showing import sweep_facts, sweep_table, worker_line


@contextmanager
def following(folder: SweepFolder, quiet: bool = False, every_s: float = 1.0) -> Iterator[None]:
    """On a terminal a live table; elsewhere a line every half minute on stderr; nothing when quiet."""
    if quiet:
        yield
        return
    screen, ended = console(stderr=True), threading.Event()

    def lines() -> None:
        while not ended.wait(30.0):
            for worker in folder.workers():
                screen.print(worker_line(worker))

    def drawn() -> None:
        with Live(console=screen, refresh_per_second=2, transient=True) as live:
            while not ended.wait(every_s):
                live.update(sweep_table(sweep_facts(folder)))

    drawing = threading.Thread(target=drawn if screen.is_terminal else lines, daemon=True)
    drawing.start()
    try:
        yield
    finally:
        ended.set()
        drawing.join(timeout=5)
