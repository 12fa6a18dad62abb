"""What became of jobs: a line each time one ends, in files that all sweeps share. A job counts as done by its id alone, whichever sweep did it.

<cache>/jobs/<host>.jsonl      processes of a host take turns by flock, hosts have files of their own
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from popcorn.devices.host import host_hash
from popcorn.records.appending import append_line, mend

Kind = Literal["done", "api_error", "infrastructure", "refused"]
"""`done` is a result, whatever it says. `refused`: this machine cannot do it at all; another may."""


@dataclass
class Known:
    """What the lines say of one sweep's jobs, or of all."""

    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Job → its line."""
    failures: dict[str, Counter[str]] = field(default_factory=dict)
    """Job → how often it ended in which failure, since it was last asked for anew."""
    refused: dict[str, str] = field(default_factory=dict)
    """Job → why this kind of machine cannot do it."""
    why: dict[str, str] = field(default_factory=dict)
    """Job → the reason of its last failure."""


@dataclass(frozen=True)
class Spent:
    """Tokens and money of ended attempts."""

    tokens: int = 0
    dollars: float = 0.0
    """Where prices are known."""
    unpriced: int = 0
    """Attempts with tokens whose price is unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.dollars + other.dollars, self.unpriced + other.unpriced)


class Done:
    """The lines of a cache folder."""

    def __init__(self, cache: Path):
        self.folder = cache / "jobs"
        self._read_to: dict[Path, int] = {}
        self._done: set[str] = set()

    def add(self, job: str, kind: Kind, sweep: str, **facts: Any) -> None:
        """One job ended; on disk when this returns."""
        line = {"job": job, "kind": kind, "sweep": sweep, "at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
        self.folder.mkdir(parents=True, exist_ok=True)
        append_line(self.folder / f"{host_hash()}.jsonl", json.dumps(line).encode())

    def has(self, job: str) -> bool:
        """Whether it has a result by now. Reads what was added since it was last asked."""
        for path in self.folder.glob("*.jsonl"):
            start = self._read_to.get(path, 0)
            if path.stat().st_size > start:
                with path.open("rb") as file:
                    file.seek(start)
                    fresh = file.read()
                whole = fresh.rfind(b"\n") + 1
                self._read_to[path] = start + whole
                self._done.update(line["job"] for line in _lines(fresh[:whole]) if line["kind"] == "done")
        return job in self._done

    def forgive(self, jobs: list[str], sweep: str) -> None:
        """Earlier failures of these jobs no longer count against their retries."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"job": job, "kind": "forgiven", "sweep": sweep}).encode() for job in jobs]
        if lines:
            append_line(self.folder / f"{host_hash()}.jsonl", b"\n".join(lines))

    def spent(self, sweep: str, without: Collection[str] = ()) -> "Spent":
        """What a sweep spent, failed attempts with it; of jobs in `without` not what an attempt cost that goes on. A job that another sweep did cost
        this one nothing."""
        settled: dict[str, Spent] = {}
        reached: dict[str, Spent] = {}
        """Of attempts that go on: the next line of the job has it, too."""
        for line in self.lines():
            if line.get("sweep") != sweep or "tokens" not in line:
                continue
            job, cost = line["job"], line.get("cost_usd")
            own = Spent(int(line["tokens"] or 0), float(cost or 0.0), int(cost is None and bool(line["tokens"])))
            if line.get("goes_on"):
                reached[job] = own
            else:
                reached.pop(job, None)
                settled[job] = settled.get(job, Spent()) + own
        return sum([*settled.values(), *(own for job, own in reached.items() if job not in without)], Spent())

    def read(self) -> Known:
        """Everything that is known. A job that is done stays done."""
        known = Known()
        for line in self.lines():
            job, kind = line["job"], line["kind"]
            if kind == "done":
                known.done[job] = line
            elif kind == "refused":
                known.refused[job] = str(line.get("reason", ""))
            elif kind == "forgiven":
                known.failures.pop(job, None)
                known.refused.pop(job, None)
            else:
                known.failures.setdefault(job, Counter())[kind] += 1
                known.why[job] = str(line.get("reason", ""))
        return known

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every whole line of every host."""
        for path in sorted(self.folder.glob("*.jsonl")):
            if not path.read_bytes().endswith(b"\n"):
                mend(path)
            yield from _lines(path.read_bytes())


def _lines(data: bytes) -> Iterator[dict[str, Any]]:
    for text in data.splitlines():
        try:
            line = json.loads(text)
        except ValueError:  # a torn line, or one of somebody else's
            continue
        if isinstance(line, dict) and "job" in line and "kind" in line:
            yield line
