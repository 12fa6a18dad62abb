"""Batches that the parent times itself, of contents that nobody has seen: its own clock's word on a cold time. Runs in the parent."""

import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from popcorn.verify.defences.clock import batch_slack_s
from popcorn.verify.defences.registry import look
from popcorn.worker.census import Census
from popcorn.worker.disputed import settle_dispute
from popcorn.worker.judging import OUT_OF_FORM, judge_results
from popcorn.worker.session import Refused
from popcorn.worker.taken import BASELINE, CANDIDATE, MEMORY

if TYPE_CHECKING:
    from popcorn.worker.comparing import Launch

_BATCHES = 6
"""Most batches of either side that the parent times before it asks in pairs; one where the clocks agree."""
_MOST_IN_BATCH = 1000


def check_batch(launch: "Launch") -> None:
    """The parent times batches itself, of contents that nobody has seen: from the moment they can be read to the moment when all outputs
    lie in the outbox. What this costs beyond the calls is measured on the reference's side, which reads as much and hands over as much.

    It is held against the cold time, the one that is recorded. On a GPU a call cannot be issued faster than the host issues it.
    """
    claimed_s, own_s, calls = launch.recorded_s(CANDIDATE), launch.recorded_s(BASELINE), _calls(launch)
    mine_s = overhead_s = math.inf
    for attempt in range(_BATCHES):
        # the quickest of several on either side: whatever disturbs a batch makes it longer
        contents = _prepare(launch, calls)
        mine_s = min(mine_s, _batch(launch, CANDIDATE, contents))
        overhead_s = min(overhead_s, _batch(launch, BASELINE, contents, call=False))
        launch.taken.parent_s = mine_s - overhead_s if mine_s > overhead_s else None
        if look("clock", mine_s, claimed_s, overhead_s, calls, find="find_in_batch") is None:
            return
        # the reference's batch right after: on a machine where others use the memory too, it is as slow as the candidate's was
        theirs_s = _batch(launch, BASELINE, contents)
        if attempt and look("clock", mine_s, claimed_s, overhead_s, calls, (theirs_s, own_s), find="find_in_batch") is None:
            return
    settle_dispute(launch, lambda side: _batch(launch, side, _prepare(launch, calls)) - batch_slack_s(overhead_s, calls))


def _calls(launch: "Launch") -> int:
    """About 20 ms of the reference's calls, as far as memory allows."""
    each = launch.trials.last["input_bytes"] + 2 * launch.trials.last["output_bytes"] + 1
    room = MEMORY["cuda" if launch.session.bench.cuda else "cpu"] // 2 // each
    return max(2, min(_MOST_IN_BATCH, room, math.ceil(0.02 / max(launch.pace.once_s, 1e-6))))


@dataclass(frozen=True)
class _Contents:
    """Input sets that the candidate has not seen, and where they and the results lie."""

    questions: list[dict[str, Any]]
    places: dict[str, Any]


def _prepare(launch: "Launch", calls: int) -> _Contents:
    """Contents that were never asked for before, in buffers that both sides have open."""
    session, oracle = launch.session, launch.session.oracle
    assert oracle is not None
    room = session.ask(oracle, {"do": "room", "bytes": calls * (2 * launch.trials.last["output_bytes"] + 4096)})
    _attach(launch, {**launch.sets, **room})
    while True:
        launch.batches_made += 1
        labels = ("launch", launch.index, "batch", launch.batches_made)
        questions = [session.question(session.opened["nominal"], *labels, one) for one in range(calls)]
        census, began = launch.census(), time.monotonic()
        places = {**session.ask(oracle, {"do": "contents", "questions": questions}), **room}
        launch.count_processor_time(BASELINE, census, time.monotonic() - began)  # nobody may watch them come
        if not _attach(launch, places):
            return _Contents(questions, places)


def _attach(launch: "Launch", places: dict[str, Any]) -> bool:
    """Whether a buffer had to be opened. That can take 60 ms, and what it holds may be known then."""
    opened = False
    for side in (CANDIDATE, BASELINE):
        child = launch.children[side]
        message = {"do": "attach", "inbox": places["inbox"], "outbox": places["outbox"]}
        place = (child.pid, json.dumps(message))
        if place not in launch.attached:
            ask = launch.ask_candidate if side == CANDIDATE else launch.session.ask
            ask(child, message)
            launch.attached.add(place)
            opened = True
    return opened


def _batch(launch: "Launch", side: str, contents: _Contents, call: bool = True) -> float:
    """Seconds a call by the parent's clock; on the reference's side without the calls. The outputs of a candidate's batch are judged, at least one in ten."""
    session, child, calls = launch.session, launch.children[side], len(contents.questions)
    ask = launch.ask_candidate if side == CANDIDATE else session.ask
    message = {"do": "batch", "call": call, **contents.places, "forward_seed": contents.questions[0]["forward_seed"]}
    waiting, began = Census(child.pid), time.monotonic()
    reply = ask(child, message)
    wall_s = time.monotonic() - began
    if not session.bench.cuda:
        # the kernel's account of waiting for a core: a busy machine makes nobody look slower than it is. Processor time would not do:
        # work in a process that left the tree has none here
        wall_s = max(1e-9, wall_s - waiting.waited_s())
    if side == CANDIDATE:
        trees = reply.get("trees")
        if not isinstance(trees, list) or len(trees) != calls:
            raise Refused("runtime_error", OUT_OF_FORM, "timing")
        launch.taken.timed_calls += calls
        chosen = launch.draw(calls, "batch", launch.batches_made)
        judge_results(session, launch.trials, launch.taken, [contents.questions[i] for i in chosen], [trees[i] for i in chosen])
    return wall_s / calls
