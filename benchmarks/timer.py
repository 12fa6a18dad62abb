"""How far can the clock be trusted? A/A intervals over many repeats, and how often planted slowdowns are found.

    python benchmarks/timer.py [--device cpu|cuda] [--problem original/L1/23] [--repeats 20] [--budget 3]

Each repeat is the whole design of docs/measuring.md: fresh launches of the reference on both sides, taking turns. An A/A interval should
hold 1 in 19 of 20 repeats; a planted slowdown is found when the whole interval lies above 1 + the A/A noise of the same repeat.
"""

import argparse
import json
from datetime import UTC, datetime

from popcorn.schema.measurement import Control
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.comparing import time_controls
from popcorn.worker.judging import Trials, open_oracle
from popcorn.worker.request import Request
from popcorn.worker.session import Session

PLANTS = (1.02, 1.05, 1.2)


def repeat(bench: Bench, problem: str, plant: float, budget_s: float) -> Control:
    """One run of the controls, in processes of its own."""
    request = Request(problem=find_problem(problem), source="", language="torch", name="none", budget_s=budget_s)
    with Session(bench, request, request.problem.hash, "", lambda _: None) as session:
        open_oracle(session)
        trials = Trials(floor=1.0)
        question = session.question(session.opened["nominal"], "trial", 0)
        trials.last = session.ask(session.oracle, {"do": "trial", "question": question, "truth": False, "conditioning": False})
        return time_controls(session, trials, plant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--problem", default="original/L1/23")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--budget", type=float, default=3.0)
    options = parser.parse_args()
    with Bench(options.device) as bench:
        print(f"{bench.machine.id}, {bench.machine.device_name}, torch {bench.machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        print(f"{options.problem}, {options.repeats} repeats a plant, budget {options.budget:g} s")
        controls: dict[float, list[Control]] = {plant: [] for plant in PLANTS}
        for index in range(options.repeats):
            for plant in PLANTS:
                control = repeat(bench, options.problem, plant, options.budget)
                controls[plant].append(control)
                assert control.aa is not None and control.planted is not None
                print(
                    f"  {index + 1:3} {plant:.2f}×  A/A {control.aa.value:.4f} [{control.aa.low:.4f}, {control.aa.high:.4f}]"
                    f"  planted {control.planted.value:.4f} [{control.planted.low:.4f}, {control.planted.high:.4f}]",
                    flush=True,
                )
        print(json.dumps(summarise(controls), indent=1))


def summarise(controls: dict[float, list[Control]]) -> dict[str, object]:
    """Counts and sizes over all repeats."""
    aa = [c.aa for group in controls.values() for c in group if c.aa]
    found = {
        f"{plant:.2f}": sum(1 for c in group if c.planted and c.planted.low > 1 + (c.noise or 0.0)) / len(group)
        for plant, group in controls.items()
    }
    estimates = {f"{plant:.2f}": sorted(round(c.planted.value, 4) for c in group if c.planted) for plant, group in controls.items()}
    return {
        "aa_repeats": len(aa),
        "aa_holds_1": sum(i.low <= 1 <= i.high for i in aa) / len(aa),
        "aa_largest_deviation": max(abs(i.value - 1) for i in aa),
        "aa_median_half_width": sorted((i.high - i.low) / 2 for i in aa)[len(aa) // 2],
        "planted_found": found,
        "planted_estimates": {plant: [values[0], values[len(values) // 2], values[-1]] for plant, values in estimates.items()},
    }


if __name__ == "__main__":
    main()
