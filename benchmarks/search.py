"""Does a search beat asking again? Three CPU problems with scripted mutators, and a synthetic landscape that deceives.

    python benchmarks/search.py [--seeds 8] [--evaluations 60] [--only synthetic]

Real: the kernels, the compiler, the judging (fresh inputs, two shapes, poisoned outputs, truth in float64) and the times, in turns with the seed.
Not the evaluator of `popcorn eval`: it takes tens of seconds on a busy machine and these are thousands of evaluations. Each distinct text is judged once,
all strategies and seeds share its judgement, so they differ by what they try and not by what the machine did meanwhile. Strategies get the
same mutators, one change a proposal (`--steps 3`: up to three at once, with which asking again reaches most of these small spaces), and the
same budget of distinct texts. The synthetic landscape is a table of numbers and needs no compiler.
"""

import argparse
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from popcorn.search.ledger import Ledger
from popcorn.search.loop import search
from popcorn.search.normal import normal
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged
from popcorn.search.proposers.mutate import Mutators, alternatives, set_declared, toggle_pragma
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.native import build_native

FOLDER = Path(__file__).parent / "search_kernels"
sys.path.insert(0, str(FOLDER))
from parts import STEPS, WRONG  # noqa: E402

STRATEGIES = ("best_of_n", "greedy", "map_elites")


class FastJudge:
    """Compiles, judges and times in a process of its own; remembers by content."""

    def __init__(self, problem: str, folder: Path):
        self.problem, self.cache = problem, BuildCache(folder / "builds")
        self.seed = (FOLDER / f"{problem}.c").read_text()
        self.known: dict[str, Judged] = {}
        self.reference = build_native(self.seed, "c", self.cache).path

    def judge(self, source: str) -> Judged:
        key = normal(source)
        if key not in self.known:
            self.known[key] = self._judge(source)
        return self.known[key]

    def _judge(self, source: str) -> Judged:
        built = build_native(source, "c", self.cache)
        if not built.ok:
            return Judged(outcome="compile_error", reason=built.reason)
        command = [sys.executable, str(FOLDER / "run.py"), self.problem, "1", str(built.path), str(self.reference)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            return Judged(outcome="timeout")
        if done.returncode:
            return Judged(outcome="crash", reason=done.stderr[-300:])
        said = json.loads(done.stdout)
        if not said.pop("correct"):
            return Judged(outcome="wrong_values")
        return Judged(outcome="correct", **said)


def step_of(part: str, steps: list[str], wrong: list[str]):
    """A mutator that goes one step along a part's texts, or to one that is wrong; from a wrong one back to any."""

    def change(source: str, rng: random.Random) -> str | None:
        now = next((at for at, one in enumerate(steps) if one.strip() in source), None)
        near = steps if now is None else [steps[at] for at in (now - 1, now + 1) if 0 <= at < len(steps)]
        return alternatives(part, [rng.choice(near + wrong)])(source, rng)

    return change


def simd(source: str, rng: random.Random) -> str | None:
    """`#pragma omp simd` above a loop that has none, or away again."""
    changed = toggle_pragma(source, rng)
    return changed if changed is not None and not re.search(r"#pragma (omp parallel|GCC)", changed) else None


def run(strategy: str, seed: int, judge, mutators: Mutators, text: str, evaluations: int) -> tuple[float, int, int]:
    """(best speedup by the judge's table, cells, evaluations)."""
    # a judge that answers the same twice has nothing to measure again
    plan = SearchPlan(
        problem="benchmark", seeds=(text,), strategy=strategy, evaluations=evaluations, seed=seed, remeasure=0, finals=0, attempts=8
    )
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder)) as ledger:
        found = search(plan, mutators, judge, ledger)
    return found.speedup or 0.0, len(found.progress.population.cells()), found.evaluations


def compare(name: str, judge, mutators: Mutators, text: str, seeds: int, evaluations: int) -> None:
    best: dict[str, list[float]] = {}
    for strategy in STRATEGIES:
        rows = [run(strategy, seed, judge, mutators, text, evaluations) for seed in range(seeds)]
        best[strategy] = [row[0] for row in rows]
        values = sorted(best[strategy])
        print(f"{name:9} {strategy:11} best {statistics.median(values):7.2f}× median, {values[0]:.2f} to {values[-1]:.2f}; cells "
              f"{statistics.mean(row[1] for row in rows):.1f}; evaluations {statistics.mean(row[2] for row in rows):.0f}", flush=True)  # fmt: skip
    for strategy in STRATEGIES[1:]:
        ratio, low, high = interval([math.log(a / b) for a, b in zip(best[strategy], best["best_of_n"], strict=True) if a and b])
        print(f"{name:9} {strategy} over best_of_n: {ratio:.2f}× in the median of pairs, 95 % [{low:.2f}, {high:.2f}]", flush=True)


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Median of paired ratios and its bootstrap interval."""
    rng = random.Random(0)
    draws = sorted(statistics.median(rng.choices(logs, k=len(logs))) for _ in range(4000))
    return tuple(math.exp(value) for value in (statistics.median(logs), draws[100], draws[3899]))  # type: ignore[return-value]


class Deceptive:
    """A table over two axes in 0..3: every single step from the hill of the seed goes down, the far corner is best."""

    def judge(self, source: str) -> Judged:
        cell = tuple(int(digit) for digit in source.split("/* ")[1][:3])
        height = 8.0 if cell == (3, 3, 0) else max(1.0, 2.0 - 0.3 * sum(cell)) * (1.0 - 0.001 * sum(cell))
        return Judged(outcome="correct", speedup=height, low=height * 0.999, high=height * 1.001, cell=cell)


def deceive(source: str, rng: random.Random) -> str:
    """One step along one axis; the text differs by a number so that no step is a repeat."""
    digits = [int(digit) for digit in source.split("/* ")[1][:3]]
    axis = rng.randrange(2)
    digits[axis] = min(3, max(0, digits[axis] + rng.choice((-1, 1))))
    return f"int popcorn_forward(void) {{ return {rng.randrange(10**9)}; }} /* {''.join(map(str, digits))} */"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--steps", type=int, default=1, help="changes at once in a proposal, at most")
    parser.add_argument("--only", choices=(*STEPS, "synthetic"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in STEPS if given.only is None else [given.only] if given.only in STEPS else []:
            judge = FastJudge(name, Path(folder))
            mutators = {part: step_of(part, texts, WRONG[name][part]) for part, texts in STEPS[name].items()} | {
                "declared": set_declared,
                "pragma": simd,
            }
            compare(name, judge, Mutators(mutators, steps=given.steps), judge.seed, given.seeds, given.evaluations)
            print(f"{name:9} distinct texts judged: {len(judge.known)}", flush=True)
    if given.only in (None, "synthetic"):
        # longer: sixteen cells, each reached by single steps only
        start = "int popcorn_forward(void) { return 0; } /* 000 */"
        compare("synthetic", Deceptive(), Mutators({"step": deceive}), start, given.seeds, 4 * given.evaluations)


if __name__ == "__main__":
    main()
