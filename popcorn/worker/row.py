"""Calls in a row, timed by the parent alone: its own clock's word on a time that the candidate's process reports. Runs in the parent."""

import math
import time
from typing import TYPE_CHECKING, Any

from popcorn.verify.defences.clock import SLACK
from popcorn.verify.defences.registry import look
from popcorn.worker.census import Census, main_thread_s
from popcorn.worker.judging import judge_results, told
from popcorn.worker.taken import BASELINE, CANDIDATE

if TYPE_CHECKING:
    from popcorn.worker.comparing import Launch

_ROW_S = {"cpu": 0.003, "cuda": 0.05}
"""Length of a row of calls: on a CPU short enough to find a quiet moment on a busy machine."""
_MOST_IN_ROW = 2000


def check_row(launch: "Launch") -> None:
    """The parent times calls in a row. What asking and handing over one result costs is taken from the reference's side, since a
    candidate could make its own look long. A busy machine only ever lengthens a row: the shortest counts, and the reference's beside it.
    Where the candidate's processes did not even work for so long, they waited, and that accuses nobody; but the run is not fit then.
    """
    oracle = launch.session.oracle
    assert oracle is not None
    claimed_s, own_s = launch.recorded_s(CANDIDATE), launch.recorded_s(BASELINE)
    room = {"do": "room", "bytes": 2 * launch.trials.last["output_bytes"] + 4096}
    outbox = launch.session.ask(oracle, room)
    overhead_s = min(_row(launch, BASELINE, 1, outbox)[0] for _ in range(3))
    mine_s, work_s = _shortest_row(launch, CANDIDATE, claimed_s, overhead_s, outbox)
    if look("clock", mine_s, claimed_s, find="find_in_row") is None:
        return
    busy = _shortest_row(launch, BASELINE, own_s, overhead_s, outbox)[0] / own_s
    again_s, work_again_s = _shortest_row(launch, CANDIDATE, claimed_s, overhead_s, outbox)
    found = look("clock", min(mine_s, again_s), claimed_s, busy, find="find_in_row")
    if found is not None:
        launch.taken.doubts.append(f"on this busy machine the parent's clock cannot confirm the time: {found.evidence}")
        launch.session.check("timing", "clock", min(mine_s, again_s, work_s, work_again_s), claimed_s, busy, find="find_in_row")


def _shortest_row(launch: "Launch", side: str, once_s: float, overhead_s: float, outbox: dict[str, Any]) -> tuple[float, float]:
    """Seconds a call in the shortest row, and the least work; no more rows once one is short enough, or after about a second."""
    count = 1 + max(2, min(_MOST_IN_ROW, math.ceil(_ROW_S["cuda" if launch.session.bench.cuda else "cpu"] / max(once_s, 1e-7))))
    shortest_s, least_s, tries, end = math.inf, math.inf, 0, time.monotonic() + 1.0
    while shortest_s > once_s * SLACK and (tries < 3 or time.monotonic() < end):
        tries += 1
        wall_s, work_s = _row(launch, side, count, outbox)
        shortest_s = min(shortest_s, max(0.0, wall_s - overhead_s) / (count - 1))
        least_s = min(least_s, work_s / count)
    return shortest_s, least_s


def _row(launch: "Launch", side: str, count: int, outbox: dict[str, Any]) -> tuple[float, float]:
    """The parent's seconds around `count` calls in a row, and the seconds that these processes worked by the kernel's account: the main
    thread, or the share of each of the threads. The candidate's last result is judged."""
    child, bench = launch.children[side], launch.session.bench
    ask = launch.ask_candidate if side == CANDIDATE else launch.session.ask
    census, main_s, began = Census(child.pid), main_thread_s(child.pid), time.monotonic()
    reply = ask(child, {"do": "row", "count": count, "forward_seed": launch.questions[0]["forward_seed"], **outbox})
    wall_s = time.monotonic() - began
    work_s = wall_s if bench.cuda else max(main_thread_s(child.pid) - main_s, census.cpu_s() / bench.threads)
    if side == CANDIDATE:
        launch.taken.timed_calls += 1  # of a row one result is handed over
        question = launch.questions[(count - 1) % len(launch.questions)]
        judge_results(launch.session, launch.trials, launch.taken, [question], told(reply, "trees", "timing"))
    return wall_s, work_s
