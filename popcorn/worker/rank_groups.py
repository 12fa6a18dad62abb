"""Groups of rank processes: started together, waited for, timed by this process's clock, ended together. No torch here."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popcorn.errors import HarnessFailure
from popcorn.schema.verdict import Outcome
from popcorn.suites.problems import Problem
from popcorn.worker.nursery import scrubbed_environment

TICK_S = 0.002
"""How often this process looks; a row of calls takes a hundred times as long or more."""
LOG_BYTES = 1 << 20
"""A rank's output is cut there when it is shown."""


@dataclass(frozen=True)
class Setting:
    """What every group of one evaluation shares."""

    problem: Problem
    world: int
    cuda: bool
    timeout_s: float

    @property
    def backend(self) -> str:
        """`nccl` or `gloo`."""
        return "nccl" if self.cuda else "gloo"


@dataclass(frozen=True)
class Launched:
    """What one group left."""

    failed: str | None = None
    """Why there is no answer."""
    outcome: Outcome = "correct"
    """With `failed`, the outcome where the group was a candidate's."""
    call_s: float | None = None
    """Seconds a call, by this process's clock around a row of `calls`; None where there was no row."""
    calls: int = 0
    """Calls of the row."""
    ranks_s: tuple[float, ...] = ()
    """Per rank, the median of single calls by its own clock."""
    missing: tuple[str, ...] = ()
    """What the fence could not give."""


def launch(setting: Setting, folder: Path, job: dict[str, Any]) -> Launched:
    """Start every rank and wait. All of them are ended when one fails or time is up."""
    for name in (*(("given", "truth") if job["do"] == "truth" else ("got",)), "out", "meet", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shared = {
        "world": setting.world, "device": "cuda" if setting.cuda else "cpu", "threads": max(1, (os.cpu_count() or 1) // setting.world),
        "size": "full" if setting.cuda else "cpu",
    }  # fmt: skip
    trusted = {"problem": setting.problem.model_dump()} if job["do"] == "truth" else {}
    (folder / "job.json").write_text(json.dumps({**shared, **trusted, **job}), encoding="utf-8")
    environment = {**scrubbed_environment(1), "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder / "home"), "HOME": str(folder / "home")}
    ranks, logs = [], []
    try:
        for rank in range(setting.world):
            log = (folder / f"log-{rank}").open("wb")
            logs.append(log)
            command = [sys.executable, "-m", "popcorn.worker.rank_process", str(folder), str(rank)]
            ranks.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)
            )
        return _wait(ranks, folder, setting.timeout_s, job.get("row"))
    finally:
        for one in ranks:
            with contextlib.suppress(OSError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
        for log in logs:
            log.close()


def judge(folder: Path, world: int, answer: str, trials: int, floor: float) -> dict[str, Any]:
    """Errors of an answer, measured in a process of its own. HarnessFailure where that fails."""
    job = json.dumps({"trials": trials, "world": world, "floor": floor, "answer": answer})
    command = [sys.executable, "-m", "popcorn.worker.rank_judging", str(folder), job]
    environment = {**scrubbed_environment(1), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    if done.returncode != 0:
        raise HarnessFailure(f"the errors could not be measured: {done.stderr[-1000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _wait(ranks: list[subprocess.Popen[bytes]], folder: Path, timeout_s: float, row: int | None) -> Launched:
    deadline, began, row_s = time.monotonic() + timeout_s, None, None
    while time.monotonic() < deadline:
        if began is None and (folder / "out" / "begin").exists():
            began = time.monotonic()
        if began is not None and row_s is None and (folder / "out" / "end").exists():
            row_s = time.monotonic() - began
        answers = [_answer(folder, rank) for rank in range(len(ranks))]
        for rank, answer in enumerate(answers):
            if "failed" in answer:
                return Launched(f"rank {rank}: {str(answer['failed'])[:900]}", _outcome(answer.get("outcome")))
        if all("ok" in answer for answer in answers):
            return _launched(answers, row_s, row)
        for rank, one in enumerate(ranks):
            code = one.poll()
            if code is not None and not _answer(folder, rank):
                tail = _tail(folder / f"log-{rank}")
                return Launched(
                    f"rank {rank} ended with {code} and no answer: {' '.join(tail.split())}", "crash" if code < 0 else "runtime_error"
                )
        time.sleep(TICK_S if began is not None and row_s is None else 10 * TICK_S)
    return Launched(
        f"the group took more than {timeout_s:g} s; a rank waits for a message that nobody sends, or computes for ever", "timeout"
    )


def _launched(answers: list[dict[str, Any]], row_s: float | None, row: int | None) -> Launched:
    """`row`: calls of the row that were asked for, None where the ranks choose."""
    told = [one["ok"] for one in answers]
    try:
        calls = int(told[0]["row"])
        ranks_s = tuple(float(one["call_s"]) for one in told)
        missing = tuple(str(one)[:300] for one in told[0]["missing"])[:5]
    except (KeyError, TypeError, ValueError):
        return Launched("a rank's answer is not what was asked for", "runtime_error")
    if row is not None and any(one.get("row") != row for one in told):
        return Launched(f"a row of {row} calls was asked for, and a rank says that it made another", "runtime_error")
    if not calls:
        return Launched(ranks_s=ranks_s, missing=missing)
    if row_s is None or row_s <= 0:
        return Launched("the row of calls was not seen to begin and end", "runtime_error")
    return Launched(call_s=row_s / calls, calls=calls, ranks_s=ranks_s, missing=missing)


def _outcome(told: Any) -> Outcome:
    """A candidate's process may say what it likes; only these are believed, and none of them is a pass."""
    known: dict[str, Outcome] = {one: one for one in ("compile_error", "mutated_inputs", "out_of_memory", "wrong_dtype")}
    return known.get(str(told), "runtime_error")


def _answer(folder: Path, rank: int) -> dict[str, Any]:
    try:
        with (folder / "out" / f"answer-{rank}.json").open("rb") as file:
            found = json.loads(file.read(LOG_BYTES))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _tail(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 300))
        return file.read(300).decode(errors="replace")
    return ""
