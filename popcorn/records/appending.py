"""One line, whole or not at all: appending under a lock, and mending what a killed writer left; or a whole file. Knows bytes, no records."""

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TAIL_STEP = 1 << 16


def append_line(path: Path, line: bytes) -> str | None:
    """Append `line` and a newline with one write, on disk when this returns. Processes take turns by flock.

    A torn last line that an earlier writer left is mended first; the sentence that says so is returned. When the disk refuses the
    line, what was written of it is taken back and the OSError passes.
    """
    new = not path.exists()
    with locked(path) as fd:
        said = _mend(fd, path)
        before = os.lseek(fd, 0, os.SEEK_END)
        try:
            _write_all(fd, line + b"\n")
            os.fsync(fd)
        except BaseException:  # a full disk, Ctrl-C: no part of a line is left behind
            os.ftruncate(fd, before)
            raise
    if new:
        _sync_folder(path.parent)
    return said


def write_whole(path: Path, text: str) -> None:
    """Replace a file, whole or not at all; readers see the old one or the new one. Raises OSError."""
    aside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def mend(path: Path) -> str | None:
    """Mend a torn last line of a file that nobody is writing to any more; the sentence that says so, or None when all is well.

    Waits for a writer that is still at work. Where the file cannot be written the line stays, and the sentence says that.
    """
    try:
        with locked(path) as fd:
            return _mend(fd, path)
    except OSError as error:
        return f"{path}: the last line is torn and was not read; it cannot be repaired here ({error.strerror})."


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """A descriptor of the file, for reading and appending, that no other process holds at the same time. Makes the file."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _mend(fd: int, path: Path) -> str | None:
    size = os.fstat(fd).st_size
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return None
    start = _start_of_last_line(fd, size)
    tail = os.pread(fd, size - start, start)
    if _is_object(tail):
        # only the newline is missing: the record is whole
        _write_all(fd, b"\n")
        os.fsync(fd)
        return f"{path}: the last line lacked its end; it was whole and has been kept."
    aside = path.with_name(path.name + ".torn")
    with aside.open("ab") as torn:
        torn.write(tail + b"\n")
        torn.flush()
        os.fsync(torn.fileno())
    os.ftruncate(fd, start)
    os.fsync(fd)
    return f"{path}: the last line was torn ({len(tail):,} bytes, a writer was killed); it was cut off into {aside.name}."


def _start_of_last_line(fd: int, size: int) -> int:
    """Offset just behind the last newline, read backwards."""
    end = size
    while end > 0:
        begin = max(0, end - _TAIL_STEP)
        found = os.pread(fd, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
