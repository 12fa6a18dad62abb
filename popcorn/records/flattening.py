"""Lines of a store to lines of a table, in a process of its own: `python -m popcorn.records.flattening OUT < places`. Free of torch.

stdin: one JSON array [file, line number, offset, length] a line. OUT gets one JSON row a record; stdout one sentence for each line that is no record.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from pydantic_core import from_json, to_json

from popcorn.errors import BadRecord, HarnessFailure
from popcorn.records.columns import flatten
from popcorn.records.migrations import read_record

Place = tuple[str, int, int, int]

WORTH_BYTES = 32 << 20
"""From so many bytes of records on, several processes are faster than one."""


def flatten_places(places: Iterable[Place], to: Path) -> list[str]:
    """Write the rows of these lines; what could not be read is returned, one sentence each."""
    said: list[str] = []
    files: dict[str, BinaryIO] = {}
    with contextlib.ExitStack() as stack, to.open("wb") as out:
        for path, number, offset, length in places:
            if path not in files:
                files[path] = stack.enter_context(Path(path).open("rb"))
            files[path].seek(offset)
            try:
                out.write(to_json(flatten(read_record(from_json(files[path].read(length))))) + b"\n")
            except (ValueError, RecursionError, BadRecord) as error:
                said.append(f"{path}:{number}: not a record: {error}; it stays there and was not read.")
    return said


def flatten_in_processes(places: Sequence[Place], folder: Path, processes: int | None = None) -> tuple[list[Path], list[str]]:
    """The same in several processes: (files of rows in the order of the lines, sentences). Raises HarnessFailure when one dies."""
    count = processes or len(os.sched_getaffinity(0))
    size = max(1, -(-len(places) // count))
    parts = [places[start : start + size] for start in range(0, len(places), size)]
    files = [folder / f"rows-{number:03d}.jsonl" for number in range(len(parts))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONIOENCODING": "utf-8"}
    started = []
    for part, file in zip(parts, files, strict=True):
        asked = file.with_suffix(".places")
        asked.write_text("".join(json.dumps(place) + "\n" for place in part), encoding="utf-8")
        with asked.open(encoding="utf-8") as stdin:
            command = [sys.executable, "-m", "popcorn.records.flattening", str(file)]
            started.append(subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment))
    said = []
    for one in started:
        told, _ = one.communicate()
        said += told.splitlines()
    if any(one.returncode for one in started):
        raise HarnessFailure("a process that made a table of records died; see what it wrote to stderr, and try again.")
    return files, said


if __name__ == "__main__":
    for sentence in flatten_places((json.loads(line) for line in sys.stdin), Path(sys.argv[1])):
        print(" ".join(sentence.split()))
