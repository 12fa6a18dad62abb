"""What all defences cost: their share of an evaluation's wall time. Target: under a quarter. Run: python benchmarks/defences.py

Counted: every check in the parent, the parent's own batches (clock), judging timed outputs, the census. Not counted: the second run of each trial, which
the candidate's process makes with the first.
The evaluation is a demo candidate's with a small budget, so the share is an upper end: a longer budget adds blocks and few checks.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.demo.samples import FOLDER
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker import comparing, judging
from popcorn.worker.bench import Bench
from popcorn.worker.request import Request
from popcorn.worker.session import Session

TARGET = 0.25
spent: dict[str, float] = {}
depth = 0


def counted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with its time added up; what it calls is not counted twice."""

    def run(*args: Any, **kwargs: Any) -> Any:
        global depth
        began, depth = time.perf_counter(), depth + 1
        try:
            return act(*args, **kwargs)
        finally:
            depth -= 1
            if depth == 0:
                spent[name] = spent.get(name, 0.0) + time.perf_counter() - began

    return run


def main() -> None:
    comparing.check_batches = counted("clock", comparing.check_batches)
    comparing.check_row = counted("clock", comparing.check_row)
    comparing.Launch.hold_kept = counted("timed outputs", comparing.Launch.hold_kept)  # type: ignore[method-assign]
    comparing.judge_held = counted("timed outputs", comparing.judge_held)
    comparing.Launch.census = counted("census", comparing.Launch.census)  # type: ignore[method-assign]
    comparing.Launch.count_processor_time = counted("census", comparing.Launch.count_processor_time)  # type: ignore[method-assign]
    judging.check_form = counted("form", judging.check_form)
    Session.check = counted("checks", Session.check)  # type: ignore[method-assign]
    path = FOLDER / "rms_norm_fused.c"
    request = Request(
        problem=find_problem("original/L1/36"), source=path.read_text(), language="c", name=path.name, device="cpu", budget_s=10.0,
        compile_baseline=False, counters=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, Bench("cpu") as bench:
        bench.nursery.wait_ready()
        began = time.perf_counter()
        record = evaluate(request, bench, Store(Path(folder)))
        wall_s = time.perf_counter() - began
    share = sum(spent.values()) / wall_s
    print(
        json.dumps({"outcome": record.verdict.outcome, "wall_s": wall_s, "defences_s": spent, "share": share, "target": TARGET}, indent=1)
    )
    raise SystemExit(0 if share < TARGET and record.verdict.correct else 1)


if __name__ == "__main__":
    main()
