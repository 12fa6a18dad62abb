"""Agents on one device: 200 scripted evaluations at 1, 2, 4 and 6 agents; throughput and the device's busy share, beside one queue for everything.

Each agent thinks (a model's answer), builds (a compiler), has its kernel judged (the device), again and again. Builds and judgements go through Popcorn's own
lanes, and really wait there; what they do is a sleep of the length that a real one takes, divided by --faster, so that every count is reached in minutes. The
single queue is the discipline of a harness whose one server a device does builds and judgements in arrival order. It is played twice: with the same times,
and with those of the plain way that was measured beside ours: a fresh process a kernel, torch's own `load_inline`, allclose and 100 calls.

    python benchmarks/device_queue.py [--evaluations 200] [--faster 40]
"""

import argparse
import heapq
import os
import random
import threading
import time
from datetime import UTC, datetime

from popcorn.worker.lanes import WorkLane

THINK_S, BUILD_S, DEVICE_S = 25.0, 3.2, 5.6
"""Medians: a turn of a reasoning model (taken, not measured); a `load_inline` build and the rest of an evaluation as measured on an H200 (benchmarks/README.md)."""
PLAIN_BUILD_S, PLAIN_DEVICE_S = 54.0, 3.7
"""The same kernel the plain way, 57.7 s in all, of which torch's start and the calls are what remains without a build (an NVRTC kernel's 8.1 s less its own start)."""


def script(evaluations: int, agents: int, seed: int) -> list[list[tuple[float, float, float]]]:
    """Each agent's (think, build, device) seconds, of one spread: half to double the median."""
    chance = random.Random(seed)
    steps = [tuple(middle * 2 ** chance.uniform(-1, 1) for middle in (THINK_S, BUILD_S, DEVICE_S)) for _ in range(evaluations)]
    return [steps[index::agents] for index in range(agents)]  # type: ignore[misc]


def through_lanes(scripts: list[list[tuple[float, float, float]]], faster: float, builders: int) -> tuple[float, float, float]:
    """(seconds in all, busy share of the device, median wait for it), in unscaled seconds, by the real lanes."""
    build_lane, device_lane = WorkLane("build", builders), WorkLane("device", 1)
    waits: list[float] = []
    began = time.monotonic()
    last = [began]

    def agent(steps: list[tuple[float, float, float]]) -> None:
        for think, build, device in steps:
            time.sleep(think / faster)
            build_lane.run(lambda build=build: time.sleep(build / faster))
            _, lane = device_lane.run(lambda device=device: time.sleep(device / faster))
            waits.append(lane.queue_s * faster)
            last[0] = max(last[0], time.monotonic())

    threads = [threading.Thread(target=agent, args=(steps,)) for steps in scripts]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    wall = last[0] - began
    busy = device_lane.usage.run_s / wall
    build_lane.close()
    device_lane.close()
    return wall * faster, busy, sorted(waits)[len(waits) // 2]


def plainly(scripts: list[list[tuple[float, float, float]]]) -> list[list[tuple[float, float, float]]]:
    """The same agents where building and judging take as long as the plain way takes."""
    return [
        [(think, build * PLAIN_BUILD_S / BUILD_S, device * PLAIN_DEVICE_S / DEVICE_S) for think, build, device in steps]
        for steps in scripts
    ]


def through_one_queue(scripts: list[list[tuple[float, float, float]]]) -> tuple[float, float]:
    """(seconds in all, share of them in which the device itself computes) when builds stand in the device's line."""
    free = device = end = 0.0
    ready = [(steps[0][0], index, 0, 1) for index, steps in enumerate(scripts) if steps]
    heapq.heapify(ready)
    while ready:
        now, index, step, part = heapq.heappop(ready)
        seconds = scripts[index][step][part]
        free = max(now, free) + seconds
        end = max(end, free)
        if part == 1:
            heapq.heappush(ready, (free, index, step, 2))
        else:
            device += seconds
            if step + 1 < len(scripts[index]):
                heapq.heappush(ready, (free + scripts[index][step + 1][0], index, step + 1, 1))
    return end, device / end


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--faster", type=float, default=100.0)
    parser.add_argument("--agents", type=int, nargs="*", default=[1, 2, 4, 6])
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f}; {options.evaluations} evaluations, "
          f"think {THINK_S:g} s, build {BUILD_S:g} s, device {DEVICE_S:g} s (medians), {options.faster:g} times faster than life")  # fmt: skip
    print(f"{'agents':>6}  {'two lanes':>20}  {'wait':>6}  {'one queue':>17}  {'gain':>5}  {'one queue, plain way':>20}  {'gain':>5}")
    for agents in options.agents:
        scripts = script(options.evaluations, agents, seed=1)
        wall, busy, wait = through_lanes(scripts, options.faster, builders=max(2, agents))
        shown = f"{agents:>6}  {options.evaluations / wall * 3600:>6.0f}/h, {100 * busy:>5.1f} % busy  {wait:>5.1f}s"
        for played in (scripts, plainly(scripts)):
            seconds, computing = through_one_queue(played)
            shown += f"  {options.evaluations / seconds * 3600:>5.0f}/h, {100 * computing:>4.1f} %    {seconds / wall:>4.1f}×"
        print(shown, flush=True)


if __name__ == "__main__":
    main()
