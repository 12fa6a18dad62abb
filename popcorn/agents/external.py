"""An agent that is not ours: what it asks of the tools, or the kernels that appear in its folder, kept as a Run like any other. Needs no Inspect."""

import asyncio
import hashlib
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from popcorn import __version__
from popcorn.agents.journal import Journal
from popcorn.agents.prompts import reference_shown
from popcorn.agents.tools.answer import Answer
from popcorn.agents.tools.registry import find_tool, tools
from popcorn.agents.workbench import MAX_KERNEL_BYTES, Workbench
from popcorn.errors import BadAgent, PopcornError
from popcorn.reading import read_kernel
from popcorn.records.runs import write_run
from popcorn.schema.run import Run, ToolCall, Turn

SUFFIXES = (".c", ".cpp", ".cc", ".cu", ".py")
TIER = "external"


class External:
    """One run of an external agent. Each use of a tool is a turn; what its model thought and cost is not known here, and stays None."""

    def __init__(self, workbench: Workbench, model: str, folder: Path, prompt: str | None = None):
        self.workbench = workbench
        settings, place = workbench.settings, workbench.place
        self.began = time.monotonic()
        self.run = Run(
            id=uuid.uuid4().hex[:16], problem=workbench.problem.id, model=model[:100], tier=TIER, language=settings.language, precision=settings.precision,
            device=place.machine().device_id, prompt=prompt, reference=reference_shown(workbench.problem, place), started=_now(), harness=__version__,
        )  # fmt: skip
        self.journal = Journal(folder / self.run.id)
        self.journal.add("open", run=self.run.model_dump(mode="json"))
        self._lock = asyncio.Lock()

    async def use(self, name: str, source: str = "") -> Answer:
        """One tool, recorded."""
        began, started = time.monotonic(), _now()
        answer = await self.workbench.use(find_tool(name), source)
        async with self._lock:
            self._add(name, source, answer, started, time.monotonic() - began)
        return answer

    def _add(self, name: str, source: str, answer: Answer, started: str, wall_s: float) -> None:
        kernel = source if len(source) <= MAX_KERNEL_BYTES else source[:2000]
        call = ToolCall(
            tool=name, arguments={"kernel_code": kernel} if tools()[name].takes_kernel else {}, result=answer.text, data=answer.data, ok=answer.ok,
            error=answer.error, wall_s=wall_s, queue_s=answer.queue_s, run_s=answer.run_s,
        )  # fmt: skip
        final = name == "submit_kernel" and answer.error is None
        turn = Turn(
            index=len(self.run.turns) + 1, started=started, wall_s=wall_s, tool_s=wall_s, queue_s=answer.queue_s, calls=(call,), final=final
        )
        kept = self.workbench.best or self.workbench.last
        update: dict[str, Any] = {
            "turns": (*self.run.turns, turn),
            "tool_calls": self.run.tool_calls + 1,
            "wall_s": time.monotonic() - self.began,
        }
        if final:
            kept = self.workbench.submitted
            update |= {"ended_by": "submit", "submitted_by": "model", "finished": _now()}
        if kept is not None and self.run.ended_by is None:  # what was submitted stays what it is
            update |= {"candidate": kept.source, "record_id": kept.record_id, "outcome": kept.outcome, "speedup": kept.speedup}
        self.run = Run.model_validate((self.run.model_copy(update=update)).model_dump())
        self.journal.add("turn", index=turn.index, turn=turn.model_dump(mode="json"))
        write_run(self.run, self.journal.folder.parent)


async def watch(
    external: External, folder: Path, told: Callable[[Path, Answer], None], stop: Callable[[], bool], every_s: float = 0.5,
    left_out: Callable[[Path, str], None] = lambda *_: None,
) -> None:  # fmt: skip
    """Judge every new text of a kernel file in a folder, in the order seen, until `stop` says so. A file is read once it has rested for a look.
    `left_out` is told of a file that is not judged and why, once for each of its states."""
    seen: set[str] = set()
    sizes: dict[Path, tuple[int, int]] = {}
    refused: set[tuple[Path, tuple[int, int]]] = set()
    while not stop():
        for path in list(_kernels(folder)):
            try:
                state = path.stat()
            except FileNotFoundError:  # gone since it was listed
                continue
            now = (state.st_mtime_ns, state.st_size)
            if sizes.get(path) != now:
                sizes[path] = now
                continue
            try:
                text = _read(path, state.st_size)
            except BadAgent as error:
                if (path, now) not in refused:
                    refused.add((path, now))
                    left_out(path, str(error))
                continue
            key = hashlib.sha256(f"{path.name}\0{text}".encode()).hexdigest()
            if key not in seen:
                seen.add(key)
                told(path, await external.use("submit_kernel" if path.stem == "final" else "profile_kernel", text))
        await asyncio.sleep(every_s)


def _kernels(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        # no link is followed: a folder of an agent's may point anywhere
        if path.suffix in SUFFIXES and not path.is_symlink() and path.is_file():
            yield path


def _read(path: Path, size: int) -> str:
    """The file's text. Raises BadAgent where it is no kernel that can be judged."""
    if size == 0:
        raise BadAgent(f"{path.name} is empty; it is judged when it holds a kernel.")
    try:
        return read_kernel(path, MAX_KERNEL_BYTES)
    except PopcornError as error:
        raise BadAgent(str(error)) from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
