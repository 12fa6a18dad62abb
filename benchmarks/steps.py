"""Where does an evaluation's time go? Seconds in each command that the parent sends to its children, by role.

    python benchmarks/steps.py [--device cpu|cuda] [--problem ID] [--candidate FILE] [--budget 5] [--no-counters] [--events FILE]

The second of two evaluations is shown: nothing is built or found out for the first time. `alone` is the share of the whole in which nothing else was
asked: what an evaluation would be shorter by. `--events` writes every command with its begin and end.
"""

import argparse
import itertools
import time
from collections import defaultdict
from dataclasses import dataclass
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
    parser.add_argument("--no-counters", action="store_true")
    parser.add_argument("--events", type=Path, default=None)
    options = parser.parse_args()
    source = options.candidate.read_text()
    with Bench(options.device) as bench, TemporaryDirectory() as folder:
        bench.nursery.wait_ready()
        request = Request(
            problem=find_problem(options.problem), source=source, language=detect_language(options.candidate.name, source, None),
            name=options.candidate.name, device=options.device, budget_s=options.budget, compile_baseline=options.compile,
            counters=not options.no_counters,
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
    commands = sum(event.end_s - event.begin_s for event in spent)
    alone = time_alone(spent)
    print(
        f"{record.verdict.outcome} in {whole_s:.2f} s, of which {sum(alone.values()):.2f} s in one command alone, and {commands:.2f} s in all of them"
    )
    timing = record.measurement.timing
    if timing is not None and timing.control is not None:
        print(
            f"{timing.speedup.value:.3f}× [{timing.speedup.low:.3f}, {timing.speedup.high:.3f}]; {timing.method}; fit: {timing.control.fit}"
        )
        print(f"A/A {timing.control.aa}; planted {timing.control.planted}; {timing.control.reason or 'nothing against it'}")
    if record.measurement.energy is not None:
        print(record.measurement.energy)
    table: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for event in spent:
        entry = table[event.role, event.what]
        entry[0], entry[1] = entry[0] + 1, entry[1] + event.end_s - event.begin_s
    for (role, what), (count, seconds) in sorted(table.items(), key=lambda item: -item[1][1]):
        print(f"  {seconds:7.2f} s  alone {alone[role, what]:6.2f} s  {count:4.0f}×  {role:10} {what}")
    if options.events is not None:
        first = min(event.begin_s for event in spent)
        lines = [f"{e.begin_s - first:8.3f} {e.end_s - first:8.3f}  {e.role:10} {e.what}" for e in sorted(spent, key=lambda e: e.begin_s)]
        options.events.write_text("\n".join(lines) + "\n")


@dataclass(frozen=True)
class Event:
    """One command to one child."""

    role: str
    what: str
    begin_s: float
    end_s: float


def time_alone(events: list[Event]) -> dict[tuple[str, str], float]:
    """(role, command) → seconds in which it was the only one under way."""
    moments = sorted([(e.begin_s, True, i) for i, e in enumerate(events)] + [(e.end_s, False, i) for i, e in enumerate(events)])
    alone: dict[tuple[str, str], float] = defaultdict(float)
    under_way: set[int] = set()
    for (now_s, begins, index), (next_s, _, _) in itertools.pairwise(moments):
        (under_way.add if begins else under_way.discard)(index)
        if len(under_way) == 1:
            (one,) = under_way
            alone[events[one].role, events[one].what] += next_s - now_s
    return alone


def watch_asks() -> list[Event]:
    """From here on, every command is noted."""
    spent: list[Event] = []
    ask, kill = nursery.Child.ask, nursery.Child.kill

    def timed(act: Any, role: Any, what: Any, *rest: Any, **named: Any) -> Any:
        began = time.monotonic()
        try:
            return act(*rest, **named)
        finally:
            spent.append(Event(role, what, began, time.monotonic()))

    def watched_ask(self: Any, message: dict[str, Any], *rest: Any, **named: Any) -> Any:
        role = "candidate" if self.rests else "trusted"
        return timed(ask, role, message.get("do") or f"start a {message.get('role')}", self, message, *rest, **named)

    nursery.Child.ask = watched_ask  # type: ignore[method-assign]
    nursery.Child.kill = lambda self: timed(kill, "candidate" if self.rests else "trusted", "kill", self)  # type: ignore[method-assign]
    return spent


if __name__ == "__main__":
    main()
