"""Two GPUs of one host: problems of communication over NCCL, and a device lane on each.

    python benchmarks/two_gpus.py [--evaluations 8] [--records FOLDER]

First every problem that talks: whether two ranks agree with float64, and the reference's time. Then a kernel for one of them, judged and timed on both
GPUs, its record kept in FOLDER. Then the same evaluations through one lane and through two, one lane a GPU: evaluations an hour. Under three minutes.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from popcorn.devices.probe import devices
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import facts, find_problem, list_problems
from popcorn.toolchain.languages import detect_language
from popcorn.units import show_time
from popcorn.worker.bench import Bench
from popcorn.worker.ranks import examine_ranks
from popcorn.worker.request import Request

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "tests/gpu/candidates/logsumexp_nvrtc.py"
BUCKETS = """
import torch
import torch.distributed as dist


class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        mine = x / dist.get_world_size(group)
        dist.all_reduce(mine, group=group)
        return mine
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=8)
    parser.add_argument("--budget", type=float, default=3.0, help="of the kernel that talks; under a second two rounds, else three")
    parser.add_argument("--records", type=Path, default=None)
    options = parser.parse_args()
    gpus = [name for name in devices() if name.startswith("cuda")]
    if len(gpus) < 2:
        raise SystemExit(f"two GPUs are needed, and there {'is one' if gpus else 'are none'}")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.records or Path(folder) / "records")
        benches = [Bench(name) for name in gpus[:2]]
        try:
            for bench in benches:
                bench.nursery.wait_ready()
            print(f"2 × {benches[0].machine.id}, torch {benches[0].machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
            talk(benches[0], store, options.budget)
            share(benches, store, options.evaluations)
        finally:
            for bench in benches:
                bench.close()


def talk(bench: Bench, store: Store, budget_s: float) -> None:
    """Every problem of communication on two ranks, three at a time, and a kernel for one, alone and timed."""
    problems = [one for one in list_problems() if facts(one).ranks is not None]
    with ThreadPoolExecutor(3) as pool:
        for problem, answer in zip(problems, pool.map(lambda one: examine_ranks(one, 2, "auto"), problems), strict=True):
            told = answer.reason or f"mean error {answer.mean_error:.1e}"
            print(f"{problem.id:16} {answer.world} ranks over {answer.backend}: {answer.outcome}, {told}", flush=True)
    request = Request(
        problem=find_problem("popcorn/L2/2"), source=BUCKETS, language="torch", name="all_reduce.py", device="cuda", budget_s=budget_s, world=2
    )  # fmt: skip
    began = time.monotonic()
    record = evaluate(request, bench, store)
    timing = record.measurement.timing
    control = timing.control.aa if timing and timing.control else None
    speed = (
        f"{show_time(timing.baseline.time_s)} → {show_time(timing.candidate.time_s)}, {timing.speedup.value:.3f}× [{timing.speedup.low:.3f}, {timing.speedup.high:.3f}], A/A {control}"
        if timing
        else ""
    )
    print(
        f"all_reduce.py on {request.problem.id}: {record.verdict.outcome} {record.verdict.reason or ''} {speed} ({time.monotonic() - began:.1f} s)"
    )


def share(benches: Sequence[Bench], store: Store, count: int) -> None:
    """The same evaluations through one lane, then through two."""
    source = KERNEL.read_text()
    request = Request(
        problem=find_problem("popcorn/L1/29"), source=source, language=detect_language(KERNEL.name, source, None), name=KERNEL.name,
        device="cuda", budget_s=1.0, compile_baseline=False, counters=False,
    )  # fmt: skip
    outcomes = []

    def judge(bench: Bench) -> None:
        outcomes.append(evaluate(request, bench, store).verdict.outcome)

    with ThreadPoolExecutor(len(benches)) as pool:
        list(pool.map(judge, benches))  # what is found out once
    hours = []
    for lanes in (benches[:1], benches):
        began = time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(judge, [lanes[i % len(lanes)] for i in range(count)]))
        seconds = time.monotonic() - began
        hours.append(3600 * count / seconds)
        print(f"{count} evaluations through {len(lanes)} lane(s): {seconds:.1f} s, {hours[-1]:.0f} an hour", flush=True)
    print(f"two lanes over one: {hours[1] / hours[0]:.2f}×; outcomes {sorted(set(outcomes))}")


if __name__ == "__main__":
    main()
