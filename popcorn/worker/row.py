"""Calls in a row, timed by the parent alone: its own clock's word on a time that the candidate's process reports. Runs in the parent."""

import math
import time
from typing import TYPE_CHECKING, Any

from popcorn.verify.defences.clock import SLACK
from popcorn.verify.defences.registry import look
from popcorn.worker.census import Census
from popcorn.worker.disputed import settle_dispute
from popcorn.worker.judging import hold_results
from popcorn.worker.taken import BASELINE, CANDIDATE

if TYPE_CHECKING:
    from popcorn.worker.launch import Launch

_ROW_S = {"cpu": 0.003, "cuda": 0.02}
"""Length of a row of calls: on a CPU short enough to find a quiet moment on a busy machine."""
_MOST_IN_ROW = 2000
_LOOP_S = 2e-6


def check_row(launch: "Launch") -> None:
    """The parent times calls in a row. What asking and handing over one result costs is taken from the reference's side, since a
    candidate could make its own look long: once, and again in a launch whose row seems too long. A busy machine only ever lengthens a row:
    the shortest of some counts. Where even that is too long for the claim, both are asked again in pairs.
    """
    oracle = launch.session.oracle
    assert oracle is not None
    if launch.session.bench.cuda:
        for side in (CANDIDATE, BASELINE):
            launch.look_host(side)
    claimed_s = launch.recorded_s(CANDIDATE)
    room = {"do": "room", "bytes": 2 * launch.trials.last["output_bytes"] + 4096}
    outbox = launch.session.ask(oracle, room)
    counts = {side: _count(launch, launch.recorded_s(side)) for side in (CANDIDATE, BASELINE)}
    taken = launch.taken
    known = taken.asking_s is not None
    given: list[Any] = []
    asking_s = taken.asking_s if taken.asking_s is not None else _asking_s(launch, counts[BASELINE], outbox)

    def row_s(side: str) -> float:
        took_s, trees = _row(launch, side, counts[side], outbox)
        if side == CANDIDATE:
            given[:] = [trees]
        return max(0.0, took_s - asking_s) / counts[side]

    def judged_s(side: str) -> float:
        took_s = row_s(side)
        if side == CANDIDATE:
            _hold(launch, counts[side], given[0])
        return took_s

    shortest_s, tries, end = math.inf, 0, time.monotonic() + 1.0
    while shortest_s > claimed_s * SLACK and (tries < 3 or time.monotonic() < end):
        if tries == 2 and known:  # it was another launch's, and perhaps another machine; one more row costs less than to ask again
            asking_s = _asking_s(launch, counts[BASELINE], outbox)
        tries += 1
        shortest_s = min(shortest_s, row_s(CANDIDATE))
        if tries > 1 and launch.helped_s > claimed_s:
            break  # its own helpers are in its way, and will be
    _hold(launch, counts[CANDIDATE], given[0])  # of the row that settled it: those before it said nothing in anybody's favour
    taken.row_s = min(shortest_s, taken.row_s if taken.row_s is not None else shortest_s)
    taken.asking_s = min(asking_s, taken.asking_s if taken.asking_s is not None else asking_s)
    if look("clock", shortest_s, claimed_s, find="find_in_row") is not None:
        settle_dispute(launch, lambda side: judged_s(side) - _LOOP_S)


def _asking_s(launch: "Launch", several: int, outbox: dict[str, Any]) -> float:
    """Seconds of a row beside its calls: of the reference's rows, without its own call, which may be many times as long as a candidate's."""
    single_s = min(_row(launch, BASELINE, 1, outbox)[0] for _ in range(3))
    several_s = min(_row(launch, BASELINE, several, outbox)[0] for _ in range(2))
    return max(0.0, single_s - max(0.0, several_s - single_s) / (several - 1))


def _count(launch: "Launch", once_s: float) -> int:
    """Calls of a row by how long one takes; at least three."""
    length_s = _ROW_S["cuda" if launch.session.bench.cuda else "cpu"]
    return 1 + max(2, min(_MOST_IN_ROW, math.ceil(length_s / max(once_s, 1e-7))))


def _row(launch: "Launch", side: str, count: int, outbox: dict[str, Any]) -> tuple[float, Any]:
    """The parent's seconds around `count` calls in a row, less what these processes waited for a core; and the last result as it lies in the outbox."""
    child, bench = launch.children[side], launch.session.bench
    ask = launch.ask_candidate if side == CANDIDATE else launch.session.ask
    census, began = Census(child.pid), time.monotonic()
    reply = ask(child, {"do": "row", "count": count, "forward_seed": launch.questions[0]["forward_seed"], **outbox})
    wall_s = time.monotonic() - began
    if not bench.cuda:
        helped_s = census.helped_s(wall_s)
        launch.faults[side] = census.faults() / count
        wall_s = max(1e-9, wall_s - census.waited_s())  # as in a batch
    if side == CANDIDATE:
        launch.helped_s = helped_s / count if not bench.cuda else 0.0
    return wall_s, reply.get("trees")


def _hold(launch: "Launch", count: int, trees: Any) -> None:
    """The candidate's last result of a row, to be judged: it still lies in the outbox."""
    launch.taken.timed_calls += 1  # of a row one result is handed over
    hold_results(launch.session, launch.trials, launch.taken, [launch.questions[(count - 1) % len(launch.questions)]], trees)
