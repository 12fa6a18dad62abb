"""Communication: N real processes, over NCCL on GPUs and Gloo on CPUs. Rounds of groups, in the parent, which has no torch.

A trusted group makes inputs, the float64 truth and the reference's answer and time; then the candidate's group answers; then a third process
measures errors. Truths are off the disk while a candidate runs, and so are all inputs by the time its text runs.
"""

import contextlib
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.devices.probe import devices, probe
from popcorn.errors import BadProblem
from popcorn.schema.verdict import Outcome
from popcorn.suites.problems import Problem, facts
from popcorn.worker.rank_groups import Launched, Setting, judge, launch
from popcorn.worker.seeds import derive, draw_secret

FLOOR = 2e-5
"""Tolerance of float32 answers, relative to the truth's rms."""
TRIALS = 3


@dataclass(frozen=True)
class RankAnswer:
    """What became of one problem of communication without a candidate."""

    outcome: str
    """An outcome of a verdict, or `skipped`."""
    reason: str
    """Why, in a sentence; empty when correct."""
    world: int
    """Processes that took part; 0 when skipped."""
    backend: str
    """`nccl` or `gloo`."""
    reference_s: float | None = None
    """Time of a call of the reference in a row of calls, by this process's clock."""
    mean_error: float | None = None
    """Largest mean error of a rank, relative to the truth's rms."""


@dataclass
class Rounds:
    """What rounds of groups showed; it only grows."""

    outcome: Outcome = "correct"
    reason: str | None = None
    trials: int = 0
    errors: dict[str, float | None] = field(default_factory=dict)
    """Of the worst rank: `mean`, `largest`, `bound`."""
    reference: list[Launched] = field(default_factory=list)
    candidate: list[Launched] = field(default_factory=list)
    again: list[Launched] = field(default_factory=list)
    """The reference once more in each round: its ratio to itself is the A/A control."""
    missing: tuple[str, ...] = ()
    """What the fence around the candidate's ranks could not give."""

    def fail(self, outcome: Outcome, reason: str) -> "Rounds":
        """The end of it."""
        self.outcome, self.reason = outcome, reason
        return self


def backend_of(cuda: bool) -> str:
    """What the processes speak over."""
    return "nccl" if cuda else "gloo"


def gpus() -> int:
    """GPUs of this machine."""
    return sum(name.startswith("cuda") for name in devices())


def world_of(problem: Problem, asked: int | None, cuda: bool) -> int:
    """Processes that a problem of communication runs on: as asked, else every GPU here, else two."""
    least = facts(problem).ranks or 1
    return asked or max(least, gpus() if cuda else 2)


def why_not(problem: Problem, world: int, cuda: bool) -> str | None:
    """Why it cannot run on so many processes here; None where it can."""
    least = facts(problem).ranks or 1
    if world < max(2, least):
        return f"needs {max(2, least)} or more processes and {world} was asked for; one process would communicate nothing"
    if cuda and gpus() < world:
        return f"needs {world} GPUs and this machine has {gpus()}; `--device cpu` runs it over Gloo"
    return None


def examine_ranks(problem: Problem, world: int | None, device: str = "auto", timeout_s: float = 180.0) -> RankAnswer:
    """Is the problem itself fit: the reference agrees with float64, and a rank that talks to nobody does not pass. BadProblem for one process."""
    if facts(problem).ranks is None:
        raise BadProblem(f"{problem.id} runs in one process; judge it with `popcorn eval {problem.id} FILE`")
    cuda = probe("cpu" if device == "cpu" else "auto").kind == "cuda"
    backend, world = backend_of(cuda), world_of(problem, world, cuda)
    reason = why_not(problem, world, cuda)
    if reason is not None:
        return RankAnswer("skipped", reason, 0, backend)
    setting = Setting(problem, world, cuda, timeout_s)
    with tempfile.TemporaryDirectory(prefix="popcorn-ranks-") as folder:
        home = Path(folder) / "trusted"
        launched = launch(setting, home, truth_job(draw_secret(), 0))
        if launched.failed:
            return RankAnswer("invalid_reference", f"the reference fails: {launched.failed}", world, backend)
        judged = judge(home, world, "reference", TRIALS, FLOOR)
        if judged["outcome"] != "correct":
            reason = f"the reference is not within the tolerance of float64: {judged['reason']}"
            return RankAnswer("invalid_reference", reason, world, backend)
        if judge(home, world, "alone", 1, FLOOR)["outcome"] == "correct":
            return RankAnswer("invalid_reference", "a rank that talks to nobody passes", world, backend)
        return RankAnswer("correct", "", world, backend, launched.call_s, judged["mean_error"])


def compare_ranks(
    setting: Setting, candidate: str, secret: str, rounds: int, timing: bool, control: bool, progress: Callable[[str], None], folder: Path
) -> Rounds:
    """Rounds of reference, candidate and reference again, each in groups of fresh processes; every round draws other values and sizes.

    The first round says how many calls a row has; without timing it is the only one.
    """
    found, calls = Rounds(), None
    for number in range(rounds if timing else 1):
        progress(f"round {number + 1} of {rounds if timing else 1} on {setting.world} processes over {setting.backend}")
        trusted, home = folder / f"trusted{number}", folder / f"candidate{number}"
        job = truth_job(secret, number) | {"row": calls if timing else 0}
        launched = launch(setting, trusted, job)
        if launched.failed:
            return found.fail("invalid_reference", f"the reference fails: {launched.failed}")
        calls = calls or launched.calls
        found.reference.append(launched)
        (home / "given").parent.mkdir(parents=True)
        shutil.move(trusted / "given", home / "given")
        (home / "candidate.py").write_text(candidate, encoding="utf-8")
        (trusted / "job.json").unlink()  # it tells the inputs' seeds, and has served
        with _away(trusted / "truth"):
            mine = launch(setting, home, {"do": "candidate", "trials": TRIALS, "row": calls if timing else 0})
        found.missing = mine.missing
        if mine.failed:
            return found.fail(mine.outcome, mine.failed)
        shutil.move(home / "got", trusted / "got")
        judged = judge(trusted, setting.world, "got", TRIALS, FLOOR)
        if judged["outcome"] != "correct":
            return found.fail(judged["outcome"], judged["reason"])
        found.candidate.append(mine)
        found.trials += TRIALS
        for name in ("mean_error", "largest_error", "bound"):
            found.errors[name] = max(found.errors.get(name) or 0.0, judged[name] or 0.0)
        if timing and control:
            again = launch(setting, folder / f"again{number}", job | {"row": calls})
            if again.failed:
                return found.fail("invalid_reference", f"the reference fails: {again.failed}")
            found.again.append(again)
    return found


def truth_job(secret: str, number: int) -> dict[str, Any]:
    """What a trusted group is told in a round. Sizes and values of different rounds have nothing in common."""
    return {
        "do": "truth", "trials": TRIALS, "row": None,
        "seeds": [derive(secret, "ranks", number, trial, "weights") % 2**31 for trial in range(TRIALS)],
        "input_seeds": [derive(secret, "ranks", number, trial, "inputs") % 2**40 for trial in range(TRIALS)],
    }  # fmt: skip


@contextlib.contextmanager
def _away(folder: Path) -> Iterator[None]:
    """The files of a folder are in this process's memory alone while the body runs."""
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in held:
        (folder / name).unlink()
    try:
        yield
    finally:
        for name, content in held.items():
            (folder / name).write_bytes(content)


def spread(launched: list[Launched]) -> list[float]:
    """Seconds a call of each launch's row."""
    return [one.call_s for one in launched if one.call_s is not None]


def slowest(launched: list[Launched]) -> tuple[float, ...]:
    """Per rank, the median over launches of its own clock's median call."""
    return tuple(statistics.median(times) for times in zip(*(one.ranks_s for one in launched), strict=True))
