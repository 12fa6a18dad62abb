"""Where does an evaluation's time go? Seconds in each command that the parent sends to its children, by role.

    python benchmarks/steps.py [--device cpu|cuda] [--problem ID] [--candidate FILE] [--budget 5]

The second of two evaluations is shown: nothing is built or found out for the first time.
"""

import argparse
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import detect_language
from popcorn.worker import nursery
from popcorn.worker.bench import Bench
from popcorn.worker.request import Request

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--problem", default="original/L1/36")
    parser.add_argument("--candidate", type=Path, default=ROOT / "popcorn/demo/candidates/rms_norm_fused.c")
    parser.add_argument("--budget", type=float, default=5.0)
    parser.add_argument("--compile", action="store_true", help="with torch.compile's baseline")
    options = parser.parse_args()
    source = options.candidate.read_text()
    with Bench(options.device) as bench, TemporaryDirectory() as folder:
        bench.nursery.wait_ready()
        request = Request(
            problem=find_problem(options.problem), source=source, language=detect_language(options.candidate.name, source, None),
            name=options.candidate.name, device=options.device, budget_s=options.budget, compile_baseline=options.compile,
        )  # fmt: skip
        print(
            f"{bench.machine.id}, torch {bench.machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {options.problem}, {options.candidate.name}"
        )
        store = Store(Path(folder))
        evaluate(request, bench, store)
        spent = watch_asks()
        began = time.monotonic()
        record = evaluate(request, bench, store)
        whole_s = time.monotonic() - began
    if record.verdict.reason:
        print(record.verdict.reason)
    print(f"{record.verdict.outcome} in {whole_s:.2f} s, of which {sum(s for _, s in spent.values()):.2f} s in commands, some at once")
    for (role, what), (count, seconds) in sorted(spent.items(), key=lambda item: -item[1][1]):
        print(f"  {seconds:7.2f} s  {count:4}×  {role:10} {what}")


def watch_asks() -> dict[tuple[str, str], list[float]]:
    """From here on, every command is counted: (role, command) → [times, seconds]."""
    spent: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    ask, kill = nursery.Child.ask, nursery.Child.kill

    def timed(act: Any, role: Any, what: Any, *rest: Any, **named: Any) -> Any:
        began = time.monotonic()
        try:
            return act(*rest, **named)
        finally:
            entry = spent[role, what]
            entry[0], entry[1] = entry[0] + 1, entry[1] + time.monotonic() - began

    def watched_ask(self: Any, message: dict[str, Any], *rest: Any, **named: Any) -> Any:
        role = "candidate" if self.rests else "trusted"
        return timed(ask, role, message.get("do") or f"start a {message.get('role')}", self, message, *rest, **named)

    nursery.Child.ask = watched_ask  # type: ignore[method-assign]
    nursery.Child.kill = lambda self: timed(kill, "candidate" if self.rests else "trusted", "kill", self)  # type: ignore[method-assign]
    return spent


if __name__ == "__main__":
    main()
