"""Fitness of problems: each examined in an oracle of its own, several at once on a machine without GPU."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from popcorn.errors import HarnessFailure
from popcorn.suites.problems import Problem, facts
from popcorn.units import show_count, show_time
from popcorn.worker.bench import Bench
from popcorn.worker.learning import learnable
from popcorn.worker.nursery import ChildDied, DeadlinePassed
from popcorn.worker.ranks import examine_ranks

OPEN_S, EXAMINE_S = 180.0, 600.0


@dataclass(frozen=True)
class Fitness:
    """What became of the rules for one problem."""

    problem: Problem
    checks: list[dict[str, Any]]
    """rule, passed, found."""
    seconds: float
    """What examining took."""
    reference_s: float | None = None
    """One call of the reference at the nominal sizes here, in seconds; a rough figure, the best of a few."""
    intensity: float | None = None
    """Declared flops over declared bytes at the nominal sizes; None where one is not declared."""

    @property
    def fit(self) -> bool:
        """Every rule holds."""
        return all(one["passed"] for one in self.checks)

    @property
    def time(self) -> str:
        """The reference's time, shown."""
        return "" if self.reference_s is None else str(show_time(self.reference_s))

    @property
    def bound(self) -> str:
        """Declared flops a byte: what the roofline asks."""
        return "not declared" if self.intensity is None else str(show_count(self.intensity, "FLOP/B"))

    def remark(self) -> str:
        """What is wrong; else what is worth knowing."""
        wrong = [f"{one['rule']}: {one['found'] or 'no'}" for one in self.checks if not one["passed"]]
        return "; ".join(wrong or [one["found"] for one in self.checks if one["found"]])

    def as_row(self) -> dict[str, Any]:
        """For JSON."""
        about = {"id": self.problem.id, "name": self.problem.name, "hash": self.problem.hash, "fit": self.fit, "checks": self.checks}
        return {**about, "seconds": round(self.seconds, 3), "reference_s": self.reference_s, "flops_per_byte": self.intensity}


def check_fitness(problems: Sequence[Problem], bench: Bench, workers: int, progress: Callable[[str], None]) -> list[Fitness]:
    """Examine problems, in their order. Raises HarnessFailure for a fault of ours."""

    def examined(one: Problem) -> Fitness:
        progress(one.id)
        return _examine(one, bench)

    with ThreadPoolExecutor(1 if bench.cuda else workers) as pool:
        return list(pool.map(examined, problems))


def _examine(one: Problem, bench: Bench) -> Fitness:
    started = time.monotonic()
    if facts(one).ranks is not None:
        answer = examine_ranks(one, None, "cpu" if not bench.cuda else "auto")
        talked = answer.reason or f"{answer.world} processes over {answer.backend}, mean error {answer.mean_error:.1e}"
        check = {"rule": "ranks agree with float64 and must talk", "passed": answer.outcome in ("correct", "skipped"), "found": talked}
        return Fitness(one, [check], time.monotonic() - started, answer.reference_s)
    bench.learn(*learnable(one.source))
    shared = bench.new_folder("shared")
    for name in ("in", "out"):
        (shared / name).mkdir(mode=0o700)
    told: dict[str, Any] = {}
    try:
        with bench.start("oracle", bench.new_folder("oracle"), shared) as oracle:
            opening = {"problem": one.model_dump(), "size": "full" if bench.cuda else "cpu", "precision": "float32", "gradient": False}
            reply = oracle.ask({"do": "open", **opening}, OPEN_S)
            reply = oracle.ask({"do": "examine"}, EXAMINE_S) if "ok" in reply else reply
    except DeadlinePassed as passed:
        reply = {"failed": {"reason": f"took more than {passed.seconds:g} s", "outcome": "timeout"}}
    except ChildDied as died:
        reply = {"failed": {"reason": f"ended its process: {died.describe()}", "outcome": "crash"}}
    if reply.get("failed", {}).get("outcome") == "harness_error" and one.origin == "suite":
        raise HarnessFailure(f"{one.id}: {reply['failed']['reason']}\n{reply['failed']['details']}")
    told = reply.get("ok", {})
    failed = {"rule": "the problem runs", "passed": False, "found": reply.get("failed", {}).get("reason", "")}
    return Fitness(one, told.get("checks", [failed]), time.monotonic() - started, told.get("reference_s"), told.get("intensity"))
