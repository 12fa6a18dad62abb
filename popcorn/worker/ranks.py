"""Communication: a candidate on N real processes, over NCCL on GPUs and Gloo on CPUs. Its own small runner; the parent has no torch.

A trusted group makes inputs, the float64 truth and the reference's answer and time; then the candidate's group answers; then a third process
measures errors. Truths are off the disk while a candidate runs, and so are all inputs by the time its text runs. What this does not hold back:
a candidate's group needs sockets, so it is not fenced, and its times are read from its own clock.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popcorn.devices.probe import probe
from popcorn.errors import BadProblem, HarnessFailure
from popcorn.suites.problems import Problem, facts

FLOOR = 2e-5
"""Tolerance of float32 answers, relative to the truth's rms."""
TRIALS = 3
LAUNCHES = 2
"""Launches of each side for its time, in turns."""
CALLS = 10
"""Timed calls of a launch."""


@dataclass(frozen=True)
class RankAnswer:
    """What became of one problem of communication."""

    outcome: str
    """An outcome of a verdict, or `skipped`."""
    reason: str
    """Why, in a sentence; empty when correct."""
    world: int
    """Processes that took part; 0 when skipped."""
    backend: str
    """`nccl` or `gloo`."""
    reference_s: float | None = None
    """Median time of a call of the reference, the slowest rank's."""
    time_s: float | None = None
    """The candidate's; None without a candidate or a pass."""
    mean_error: float | None = None
    """Largest mean error of a rank, relative to the truth's rms."""


def run_ranks(problem: Problem, candidate: str | None, world: int, device: str = "auto", timeout_s: float = 180.0) -> RankAnswer:
    """Judge and time a candidate on `world` processes; without one, examine the problem: the reference agrees with float64 and with itself,
    and a rank that talks to nobody does not pass. Raises BadProblem for a problem of one process.
    """
    least = facts(problem).ranks
    if least is None:
        raise BadProblem(f"{problem.id} runs in one process; judge it with `popcorn eval {problem.id} FILE`")
    machine = probe("cpu" if device == "cpu" else "auto")
    cuda = machine.kind == "cuda"
    backend = "nccl" if cuda else "gloo"
    if world < least:
        return RankAnswer(
            "skipped", f"needs {least} or more processes and {world} was asked for; one process would communicate nothing", 0, backend
        )
    if cuda and _gpus() < world:
        have = _gpus()
        return RankAnswer("skipped", f"needs {world} GPUs and this machine has {have}; `--device cpu` runs it over Gloo", 0, backend)
    with tempfile.TemporaryDirectory(prefix="popcorn-ranks-") as folder:
        return _run(problem, candidate, world, "cuda" if cuda else "cpu", Path(folder), timeout_s)


def _run(problem: Problem, candidate: str | None, world: int, device: str, folder: Path, timeout_s: float) -> RankAnswer:
    backend = "nccl" if device == "cuda" else "gloo"
    job: dict[str, Any] = {
        "problem": problem.model_dump(), "size": "full" if device == "cuda" else "cpu", "world": world, "device": device, "calls": CALLS,
        "threads": max(1, (os.cpu_count() or 1) // world), "seeds": [secrets.randbelow(2**31) for _ in range(TRIALS)],
        "input_seeds": [secrets.randbelow(2**40) for _ in range(TRIALS)], "trials": TRIALS,
    }  # fmt: skip
    times: dict[str, list[float]] = {"reference": [], "candidate": []}
    for launch in range(LAUNCHES if candidate is not None else 1):
        failed, took = _launch({**job, "do": "truth"}, folder / f"trusted{launch}", timeout_s)
        if failed:
            return RankAnswer("invalid_reference", f"the reference fails: {failed}", world, backend)
        times["reference"].append(took)
        if candidate is None:
            return _examined(folder / "trusted0", world, backend, statistics.median(times["reference"]))
        home = folder / f"candidate{launch}"
        (home / "got").mkdir(parents=True)
        shutil.move(folder / f"trusted{launch}" / "given", home / "given")
        (home / "candidate.py").write_text(candidate, encoding="utf-8")
        (folder / f"trusted{launch}" / "job.json").unlink()  # it tells the inputs' seeds, and has served
        with _away(folder / f"trusted{launch}" / "truth"):
            told = {name: job[name] for name in ("world", "device", "calls", "threads", "trials")}
            failed, took = _launch({**told, "do": "candidate"}, home, timeout_s)
        if failed:
            return RankAnswer("timeout" if "took more than" in failed else "runtime_error", failed, world, backend)
        times["candidate"].append(took)
        shutil.move(home / "got", folder / f"trusted{launch}" / "got")
        judged = _judge(folder / f"trusted{launch}", world, "got")
        if judged["outcome"] != "correct":
            return RankAnswer(judged["outcome"], judged["reason"], world, backend)
    reference_s, time_s = statistics.median(times["reference"]), statistics.median(times["candidate"])
    return RankAnswer("correct", "", world, backend, reference_s, time_s, judged["mean_error"])


def _examined(folder: Path, world: int, backend: str, reference_s: float) -> RankAnswer:
    judged = _judge(folder, world, "reference")
    if judged["outcome"] != "correct":
        return RankAnswer("invalid_reference", f"the reference is not within the tolerance of float64: {judged['reason']}", world, backend)
    if _judge(folder, world, "alone", trials=1)["outcome"] == "correct":
        return RankAnswer("invalid_reference", "a rank that talks to nobody passes", world, backend)
    return RankAnswer("correct", "", world, backend, reference_s, None, judged["mean_error"])


def _judge(folder: Path, world: int, answer: str, trials: int = TRIALS) -> dict[str, Any]:
    job = json.dumps({"trials": trials, "world": world, "floor": FLOOR, "answer": answer})
    done = subprocess.run(
        [sys.executable, "-m", "popcorn.worker.rank_judging", str(folder), job],
        capture_output=True,
        text=True,
        timeout=120,
        env=_environment(),
        check=False,
    )
    if done.returncode != 0:
        raise HarnessFailure(f"the errors could not be measured: {done.stderr[-1000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _launch(job: dict[str, Any], folder: Path, timeout_s: float) -> tuple[str | None, float]:
    """Start every rank and wait: (why it failed or None, median time of a call). All of them are ended when one fails or time is up."""
    for name in ("given", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    ranks, logs = [], []
    try:
        for rank in range(job["world"]):
            log = (folder / f"log-{rank}").open("wb")
            logs.append(log)
            command = [sys.executable, "-m", "popcorn.worker.rank_process", str(folder), str(rank)]
            ranks.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment())
            )
        failed = _wait(ranks, folder, time.monotonic() + timeout_s, timeout_s)
    finally:
        for one in ranks:
            with contextlib.suppress(OSError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
        for log in logs:
            log.close()
    if failed:
        return failed, 0.0
    return None, statistics.median(_answer(folder, 0)["ok"]["times"])


def _wait(ranks: list[subprocess.Popen[bytes]], folder: Path, deadline: float, timeout_s: float) -> str | None:
    while time.monotonic() < deadline:
        answers = [_answer(folder, rank) for rank in range(len(ranks))]
        for rank, answer in enumerate(answers):
            if "failed" in answer:
                return f"rank {rank}: {answer['failed']}"
        if all("ok" in answer for answer in answers):
            return None
        for rank, one in enumerate(ranks):
            code = one.poll()
            if code is not None and not _answer(folder, rank):
                tail = (folder / f"log-{rank}").read_bytes()[-300:].decode(errors="replace")
                return f"rank {rank} ended with {code} and no answer: {' '.join(tail.split())}"
        time.sleep(0.02)
    return f"the group took more than {timeout_s:g} s; a rank waits for a message that nobody sends, or computes for ever"


def _answer(folder: Path, rank: int) -> dict[str, Any]:
    try:
        found = json.loads((folder / f"answer-{rank}.json").read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


@contextlib.contextmanager
def _away(folder: Path) -> Any:
    """The files of a folder are in this process's memory alone while the body runs."""
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in held:
        (folder / name).unlink()
    try:
        yield
    finally:
        for name, content in held.items():
            (folder / name).write_bytes(content)


def _gpus() -> int:
    try:
        import pynvml

        pynvml.nvmlInit()
        return int(pynvml.nvmlDeviceGetCount())
    except Exception:  # no driver, no library: no GPU that could be used
        return 0


def _environment() -> dict[str, str]:
    from popcorn.worker.nursery import scrubbed_environment

    return {**scrubbed_environment(1), "PYTHONWARNINGS": "ignore"}
