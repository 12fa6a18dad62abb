"""Journal: what happened in one run, a line the moment it is known. After a crash the run is read back from it and goes on.

<runs>/<run id>/journal.jsonl   open · output (the model's answer, before any tool runs) · call (a tool's answer) · turn · end
<runs>/<run id>/run.json        the Run as of the last whole turn, for whoever wants to read along; written by popcorn.records.runs
"""

import json
from pathlib import Path
from typing import Any

from popcorn.records.appending import append_line, mend
from popcorn.schema.run import Run


class Journal:
    """Lines of one run; each is on disk when `add` returns."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path = folder / "journal.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.lines = self._read()

    def add(self, kind: str, **facts: Any) -> None:
        """Write one line."""
        line = {"kind": kind, **facts}
        append_line(self.path, json.dumps(line, ensure_ascii=True).encode())
        self.lines.append(line)

    def find(self, kind: str, **keys: Any) -> dict[str, Any] | None:
        """The line of this kind with these values, or None."""
        for line in self.lines:
            if line.get("kind") == kind and all(line.get(name) == value for name, value in keys.items()):
                return line
        return None

    def finished(self) -> Run | None:
        """The run, when it ended."""
        end = self.find("end")
        return Run.model_validate(end["run"]) if end else None

    def _read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        mend(self.path)
        found = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:  # mend() has set a torn line aside; anything else is no line of ours
                continue
        lines = [line for line in found if isinstance(line, dict)]
        # a run that its provider, or a fault of ours, broke off is not over: what was settled for it then is settled again when it is
        last = max((index for index, line in enumerate(lines) if _broken_off(line)), default=-1)
        kept = [line for index, line in enumerate(lines) if index > last or line.get("kind") not in ("end", "submit")]
        fault = _fault_at_its_end(kept[: last + 1]) if last >= 0 else None
        return kept if fault is None else [line for index, line in enumerate(kept) if index < fault or index > last]

    def fault(self) -> str | None:
        """What our own last fault said, in one line."""
        line = next((line for line in reversed(self.lines) if _is_fault(line)), None)
        return None if line is None else " ".join(str(line["answer"].get("text")).split())[:300]

    def fault_came_last(self) -> bool:
        """Whether our own fault is the last thing that happened: then the model's answers still stand, and only the fault is asked again."""
        return _fault_at_its_end([line for line in self.lines if line.get("kind") not in ("end", "submit")]) is not None or any(
            _is_fault(line) for line in self.lines if line.get("kind") == "submit"
        )


def _broken_off(line: dict[str, Any]) -> bool:
    run = line.get("run")
    return line.get("kind") == "end" and isinstance(run, dict) and (run.get("ended_by") == "error" or run.get("outcome") == "harness_error")


def _is_fault(line: dict[str, Any]) -> bool:
    answer = line.get("answer")
    return isinstance(answer, dict) and (answer.get("error") == "infrastructure" or answer.get("outcome") == "harness_error")


def _fault_at_its_end(lines: list[dict[str, Any]]) -> int | None:
    """Place of the first call that a fault of ours answered, where the model said nothing after it."""
    fault = next((index for index, line in enumerate(lines) if line.get("kind") == "call" and _is_fault(line)), None)
    return None if fault is None or any(line.get("kind") == "output" for line in lines[fault:]) else fault
