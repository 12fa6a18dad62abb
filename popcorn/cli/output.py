"""Standard output that is closed, or that nobody can write to: one sentence in the end, never a traceback."""

import contextlib
import errno
import io
import os
import sys


def open_missing_streams() -> None:
    """Where a shell closed stdin, stdout or stderr, nothing stands in its place: else the next file that is opened would get what is printed."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without "µ" shows "?" for it


def why_unwritten(failed: bool = False) -> str | None:
    """Why what was printed cannot be written, or None when all of it is. What is left of it is dropped then. `failed`: something could not be
    written, and a newline tells whether it was this."""
    try:
        if failed:
            sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes once more when it ends
            sys.stdout.flush()
        return None if error.errno == errno.EPIPE else f"standard output cannot be written ({error.strerror}); send it elsewhere."
    return None
