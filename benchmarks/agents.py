"""Eight agents on one device: is it kept busy, does anybody wait for another's compiler, how long does get_gpu_specs take?

The real loop, the real tools and the real evaluator; the model is scripted: it thinks 200 ms, asks for the device's facts and a build of a kernel that
nobody has seen, then has it judged. The device's lock is taken once for the whole run, so that other processes of Popcorn neither disturb it nor are
disturbed. Beside it the same calls with the same times are played through one queue, the discipline of a harness whose every tool stands in one line.

    python benchmarks/agents.py [--agents 8] [--kernels 3] [--think 0.2] [--device cpu]
"""

import argparse
import asyncio
import fcntl
import heapq
import os
import statistics
import tempfile
import threading
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant, GenerateConfig, ModelAPI, ModelOutput, modelapi

from popcorn.agents.models import Price, Row
from popcorn.agents.place import Place
from popcorn.agents.providers.scripted import kernels_for
from popcorn.agents.providers.speaking import speak
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import Tier
from popcorn.agents.workbench import Settings
from popcorn.schema.run import Run
from popcorn.suites.problems import find_problem

PROBLEM = "popcorn/L1/29"
NVCC_S = 55.0
"""What a load_inline build with torch's full headers takes on an H200's host (docs/toolchain.md): for the second play of the single queue."""


@modelapi(name="busy")
def busy() -> type[ModelAPI]:
    """busy/<kernels>x<milliseconds>: writes so many kernels nobody has seen, thinking so long before each turn."""
    return Busy


class Busy(ModelAPI):
    """The scripted model of this benchmark."""

    def __init__(
        self, model_name: str, base_url: str | None = None, api_key: str | None = None, config: GenerateConfig | None = None
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        kernels, _, milliseconds = model_name.rpartition("/")[2].partition("x")
        self.kernels, self.think_s = int(kernels), int(milliseconds) / 1000

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        await asyncio.sleep(self.think_s)
        spoken = [message for message in input if isinstance(message, ChatMessageAssistant)]
        if len(spoken) >= 2 * self.kernels:
            return speak(self.model_name, input, "", [("submit_kernel", _kernel_of(spoken[-1]))])
        if len(spoken) % 2:
            return speak(self.model_name, input, "", [("run_correctness", _kernel_of(spoken[-1]))])
        language = "cuda" if "Language: cuda" in input[1].text else "c"
        kernel = kernels_for(PROBLEM, language)[-1] + f"/* {uuid.uuid4().hex} */\n"
        return speak(self.model_name, input, "", [("get_gpu_specs", {}), ("compile_kernel", {"kernel_code": kernel})])


def _kernel_of(message: ChatMessageAssistant) -> dict[str, Any]:
    return {"kernel_code": next(call.arguments["kernel_code"] for call in message.tool_calls or [] if "kernel_code" in call.arguments)}


class Watched:
    """A lane whose every piece of work leaves its times."""

    def __init__(self, lane: Any):
        self.times: list[tuple[float, float, float]] = []
        self._submit, self._lock = lane.submit, threading.Lock()
        lane.submit = self.submit

    def submit(self, work: Any) -> Any:
        arrived = time.monotonic()

        def run() -> Any:
            began = time.monotonic()
            try:
                return work()
            finally:
                with self._lock:
                    self.times.append((arrived, began, time.monotonic()))

        return self._submit(run)

    def busy_share(self) -> float:
        """Time with work running over time with work waiting or running."""
        wanted = _union([(arrived, ended) for arrived, _, ended in self.times])
        return _union([(began, ended) for _, began, ended in self.times]) / wanted


def _union(spans: list[tuple[float, float]]) -> float:
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def play_one_queue(scripts: list[list[tuple[str, float]]], think_s: float) -> tuple[float, list[float], float]:
    """(makespan, waits and times of get_gpu_specs, seconds in the queue in all) when every call of every agent stands in one line."""
    free, specs, queued = 0.0, [], 0.0
    ready = [(think_s, index, 0) for index in range(len(scripts))]
    heapq.heapify(ready)
    end = 0.0
    while ready:
        now, agent, step = heapq.heappop(ready)
        kind, seconds = scripts[agent][step]
        began = max(now, free)
        free = began + seconds
        queued += began - now
        if kind == "get_gpu_specs":
            specs.append(free - now)
        end = max(end, free)
        if step + 1 < len(scripts[agent]):
            # the build stands in the same turn as the facts; the model thinks before every other call
            heapq.heappush(ready, (free + (0 if kind == "get_gpu_specs" else think_s), agent, step + 1))
    return end, specs, queued


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--kernels", type=int, default=3)
    parser.add_argument("--think", type=float, default=0.2)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POPCORN_CACHE_DIR"] = folder
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Run, then print."""
    from popcorn.evaluate import evaluate
    from popcorn.records.store import Store
    from popcorn.worker.bench import Bench
    from popcorn.worker.local import LocalEngine

    store = Store(folder / "records")
    with Bench(options.device, build_workers=options.agents) as bench:
        bench.nursery.wait_ready()
        lock = os.open(bench.device_lane._lock_path, os.O_RDWR | os.O_CREAT, 0o600)  # type: ignore[arg-type]
        fcntl.flock(lock, fcntl.LOCK_EX)
        bench.device_lane._lock_path = None
        watched = Watched(bench.device_lane)

        def judge(request: Any, there: Bench) -> Any:
            # the last step is a submission; it is only judged here, so that all pieces of work are cheap and alike
            return evaluate(request.model_copy(update={"timing": False}), there, store)

        engine = LocalEngine(bench, judge, width=4 * options.agents)
        place = Place(engine, options.device)
        tier = Tier(
            name="benchmark",
            tools=("get_gpu_specs", "compile_kernel", "run_correctness", "submit_kernel"),
            max_turns=99,
            max_tool_calls=999,
        )
        row = Row(name="busy", provider=f"busy/{options.kernels}x{round(options.think * 1000)}", price=Price(input=0, cached=0, output=0))
        began = time.monotonic()
        runs = asyncio.run(
            run_agents(
                find_problem(PROBLEM),
                row,
                tier,
                Settings("auto", trials=5, timeout_s=30.0),
                place,
                repeats=options.agents,
                folder=folder / "runs",
            )
        )
        report(options, runs, watched, store, time.monotonic() - began, bench.machine.id)
        os.close(lock)


def report(options: argparse.Namespace, runs: list[Run], watched: Watched, store: Any, wall_s: float, machine: str) -> None:
    """What was seen, and the same through one queue."""
    calls = [call for run in runs for turn in run.turns for call in turn.calls]
    specs = [call.wall_s or 0.0 for call in calls if call.tool == "get_gpu_specs"]
    records = list(store)
    print(f"{machine}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load {os.getloadavg()[0]:.1f}")
    print(
        f"{len(runs)} agents, {options.think * 1000:.0f} ms thinking, {len(calls)} calls, {sum(run.outcome == 'correct' for run in runs)} runs correct"
    )
    print(f"  all done in                                {wall_s:8.1f} s")
    print(f"  device lane busy while work was wanted     {100 * watched.busy_share():8.1f} %  ({len(watched.times)} pieces of work)")
    print(f"  get_gpu_specs, median and longest          {1000 * statistics.median(specs):8.1f} ms  {1000 * max(specs):.1f} ms")
    waits = [record.provenance.build_lane.queue_s for record in records]
    print(f"  judging waited for a compiler at most      {1000 * max(waits):8.1f} ms")
    builds = [call.queue_s or 0.0 for call in calls if call.tool == "compile_kernel"]
    print(f"  a build waited for another at most         {1000 * max(builds):8.1f} ms")
    compile_s = statistics.median([call.run_s or 0.0 for call in calls if call.tool == "compile_kernel"])
    for title, build_s in (
        ("the same calls through one queue", None),
        (f"and with builds of {NVCC_S:g} s (nvcc, torch's headers)", NVCC_S),
    ):
        scripts = [[(call.tool, build_s if build_s and call.tool == "compile_kernel" else call.run_s or 0.001) for turn in run.turns for call in turn.calls] for run in runs]  # fmt: skip
        end, waited, queued = play_one_queue(scripts, options.think)
        print(f"{title}: get_gpu_specs median {statistics.median(waited):.2f} s, longest {max(waited):.1f} s; {queued:.0f} s in the queue; done in {end:.0f} s")  # fmt: skip
    print(
        f"(a build took {compile_s:.2f} s here, a judgement {statistics.median([e - b for _, b, e in watched.times]):.2f} s of the device)"
    )


if __name__ == "__main__":
    main()
