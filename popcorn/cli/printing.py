"""What rich lays out, printed: within a width, and into a pipe or a file without blanks at the ends of lines."""

from rich.console import Console, RenderableType

WIDTH = 100
"""Columns at most: a terminal split in two."""


def print_within(what: RenderableType, console: Console | None = None, width: int = WIDTH) -> None:
    """On stdout, or on the console given, at most `width` wide."""
    console = console or Console(highlight=False, emoji=False)
    with console.capture() as made:
        console.print(what, width=min(console.width, width))
    text = made.get()
    if not console.is_terminal:
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    console.file.write(text)
