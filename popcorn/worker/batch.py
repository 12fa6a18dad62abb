"""Batches that the parent times itself, of contents that nobody has seen: its own clock's word on a cold time. Runs in the parent."""

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn.measure.timing import WINDOW_S
from popcorn.verify.defences.clock import FIRM, IN_MOST, PRESENT_STEP_S, SLACK, STEP_S, batch_slack_s, may_be_short, over_claimed
from popcorn.verify.defences.registry import look
from popcorn.worker.census import Census
from popcorn.worker.choosing import WAYS, draw_choice, ways_of
from popcorn.worker.disputed import settle_dispute
from popcorn.worker.judging import OUT_OF_FORM, TIMED, hold_results
from popcorn.worker.presence import Absent, fetch, mapped, repeated, views
from popcorn.worker.presence import asked as asked_of
from popcorn.worker.refused import Refused
from popcorn.worker.taken import BASELINE, CANDIDATE, JUDGED_SHARE, MEMORY

if TYPE_CHECKING:
    from popcorn.worker.launch import Launch

_BATCHES = 6
"""Most batches of either side that the parent times before it asks in pairs; one where the clocks agree."""
_EMPTY = 3
"""Batches without calls, of which the quickest is what one costs beside its calls; where nothing is handed over one takes 2 ms."""
_LEAST_OF = 3
"""Batches of the candidate, of which the quickest is held against its claims in all launches, where these may fall short."""
_MOST_IN_BATCH = {"cpu": 1000, "cuda": 200}
"""On a GPU every result of a batch is handed over, which takes longer than a short call: those are for the row to time."""
_CHAINED = 500
"""Calls of a batch of short ones, in which each answer chooses the next question."""
_BATCH_S, _OF_CLAIMED_S = 0.02, 0.004
_LONGEST_S = 1.0
"""Of a batch of somebody slow."""
_SHORT_S = 1e-4
"""Calls of the reference below it are short: what is asked around them may be longer than they are."""
_MOST_WAYS, _MOST_DRAWN, _MOST_DRAWN_BYTES = 16, 800, 16 << 20
"""Of longer calls: input sets of which one is asked, at the most; as many of them, and as many bytes, are drawn in a twentieth of a second. Inputs that take more
are themselves what a call works on, and nothing is saved by several at once."""


def check_batches(launch: "Launch") -> None:
    """Batches that the parent times, and on a CPU one before or after them that it does not: whoever is careful in trials alone, where values are not
    always ordinary, does not know which of them he is asked."""
    first = _unusual_first(launch)
    for unusual in (first, not first):
        if not unusual:
            check_batch(launch)
        elif _unusual_kinds(launch):
            choice = _choice(launch)
            _batch(launch, CANDIDATE, _prepare(launch, _sets(launch, choice), choice, unusual=True), cold=False)


def check_batch(launch: "Launch") -> None:
    """The parent times batches itself, of contents that nobody has seen: from the moment they can be read to the moment when all outputs
    lie in the outbox, or on a CPU in the memory of the process, where the parent reads them. What this costs beyond the calls is measured on
    the reference's side, which reads as much and hands over as much.

    It is held against the cold time, the one that is recorded. On a GPU a call cannot be issued faster than the host issues it. Each answer chooses the
    next question where calls are short or inputs small (worker/choosing.py), so that nobody answers all of them in one stroke.
    """
    claimed_s, own_s, choice = launch.recorded_s(CANDIDATE), launch.recorded_s(BASELINE), _choice(launch)
    lengthened = launch.taken.lengthened.get(launch.index, 1.0)  # by the row: what was claimed was less
    sets = _sets(launch, choice)
    calls = sets // ways_of(choice) if choice else sets
    mine_s = theirs_s = overhead_s = math.inf
    slack, step_s = (FIRM, PRESENT_STEP_S) if _stays(launch) else (SLACK, STEP_S)
    reference: tuple[float, float] | None = None

    agreed = False

    def agree(slack: float) -> bool:
        return look("clock", mine_s, claimed_s, overhead_s, calls, reference, step_s, slack, find="find_in_batch") is None

    for attempt in range(_BATCHES):
        # the quickest of several on either side: whatever disturbs a batch makes it longer
        contents = _prepare(launch, sets, choice)
        mine_s = min(mine_s, _batch(launch, CANDIDATE, contents, cold=not agreed))
        overhead_s = min([overhead_s, *(_batch(launch, BASELINE, contents, call=False) for _ in range(_EMPTY if _stays(launch) else 1))])
        launch.taken.parent_s = mine_s - overhead_s if mine_s > overhead_s else None
        ratio = over_claimed(mine_s - overhead_s, claimed_s / lengthened)
        if _stays(launch):
            launch.taken.over_claimed[launch.index] = ratio
        reference = None
        agreed = agreed or agree(slack)
        if (
            agreed
            and _stays(launch)
            and attempt < _LEAST_OF - 1
            and ratio > IN_MOST
            and may_be_short([*launch.taken.over_claimed.values()])
        ):
            continue  # it stands in this launch, and in all of them? Twice more, with warm caches, so that nothing is held against anybody
        if agreed:
            return
        # the reference's batch right after: on a machine where others use the memory too, it is as slow as the candidate's was. The quickest here as well: one
        # that was disturbed among six would excuse any claim
        theirs_s = min(theirs_s, _batch(launch, BASELINE, contents))
        reference = (theirs_s, own_s)
        # where caches were evicted for both, the reference's says at once what that costs a batch more than a window
        if (attempt or _stays(launch)) and agree(slack):
            if _stays(launch):
                launch.taken.over_claimed[launch.index] = ratio / max(1.0, (reference[0] - overhead_s) / own_s)
            return
        if attempt > 1 and (launch.helped_s > claimed_s or not agree(2 * SLACK)):
            break  # no busy moment lasts that long, nor do helpers that never rest: pairs will say
    assert reference is not None
    if agree(SLACK):
        colder = max(1.0, (reference[0] - overhead_s) / own_s)
        launch.lengthen(CANDIDATE, (mine_s - overhead_s) / colder, slack)
    else:
        known = [contents]  # to the reference they may be: it is nobody who would profit

        def again_s(side: str) -> float:
            if side == CANDIDATE:
                known[:] = [_prepare(launch, sets, choice)]
            return _batch(launch, side, known[0]) - batch_slack_s(overhead_s, calls, step_s)

        settle_dispute(launch, again_s)


def next_questions(launch: "Launch") -> list[dict[str, Any]]:
    """What the next batch of this launch will be asked, for the oracle alone."""
    return _questions(launch, launch.batches_made + 1, _sets(launch, _choice(launch)), _unusual_first(launch))


def _questions(launch: "Launch", number: int, sets: int, unusual: bool = False) -> list[dict[str, Any]]:
    session = launch.session
    labels = ("launch", launch.index, "batch", number)
    kinds = _unusual_kinds(launch) if unusual else ["normal"]
    kinds = [kinds[one % len(kinds)] for one in range(sets)]
    return [session.question(session.opened["nominal"], *labels, one, distribution=kind) for one, kind in enumerate(kinds)]


def _unusual_first(launch: "Launch") -> bool:
    """Whether the batch of unusual values comes before those that are timed: as often as not, and nobody is told."""
    return bool(_unusual_kinds(launch)) and launch.session.question({}, "unusual", launch.index)["seed"] % 2 == 1


def _unusual_kinds(launch: "Launch") -> list[str]:
    """Where results stay, of the kinds of values that decided something in trials: every second time large ones, which most of what is left out would need."""
    if not _stays(launch):
        return []
    others: list[str] = [kind for kind in ("one_hot", "equal_rows", "structured") if kind in launch.trials.kinds]
    return [kind for other in others for kind in ("large", other)] if "large" in launch.trials.kinds else others


def _choice(launch: "Launch") -> dict[str, Any] | None:
    """What decides the next question, where inputs can be stacked, are cheap to draw, and results stay; None else."""
    ways = _ways(launch)
    if ways == 1 or not _stays(launch) or launch.session.gradient:
        return None
    expected = launch.trials.last["expected"]
    known = {errors.output: errors.scale for errors in reversed(launch.trials.errors) if errors.scale}
    seed = launch.session.question({}, "choice", launch.index)["seed"]
    return draw_choice(expected, [known.get(path) for path, _, _ in expected], launch.trials.floor, seed, ways)


def _ways(launch: "Launch") -> int:
    """Input sets that are drawn for a call; 1 where all that are drawn are asked."""
    if launch.pace.once_s < _SHORT_S:
        return WAYS
    calls, last = _calls(launch), launch.trials.last
    possible = (_MOST_WAYS, WAYS) if _can_stack(last["set"]["inputs"]) else ()
    fits = (ways for ways in possible if calls * ways <= _MOST_DRAWN and calls * ways * last["input_bytes"] <= _MOST_DRAWN_BYTES)
    return next(fits, 1)


def _can_stack(packed: dict[str, Any]) -> bool:
    """Whether packed inputs are contiguous tensors and nothing else (worker/stacking.py)."""
    ((kind, items),) = packed.items()
    return kind in ("l", "u") and all("t" in item and _contiguous(item["t"]["shape"], item["t"]["stride"]) for item in items)


def _contiguous(shape: list[int], stride: list[int]) -> bool:
    return all(size == 1 or step == math.prod(shape[axis + 1 :]) for axis, (size, step) in enumerate(zip(shape, stride, strict=True)))


def _sets(launch: "Launch", choice: dict[str, Any] | None) -> int:
    """Input sets of a batch."""
    return _calls(launch, choice) * (ways_of(choice) if choice else 1)


def _calls(launch: "Launch", choice: dict[str, Any] | None = None) -> int:
    """Calls of about 20 ms by the reference, and of 4 ms of what the candidate claims, as far as memory allows: of three quick calls what is asked around them
    would be a third. Of short ones that choose, 500."""
    each = launch.trials.last["input_bytes"] + 2 * launch.trials.last["output_bytes"] + 1
    kind = "cuda" if launch.session.bench.cuda else "cpu"
    room = MEMORY[kind] // 2 // each
    most = math.ceil(_LONGEST_S / launch.recorded_s(CANDIDATE))  # who is slow says so, and makes fewer
    if choice and launch.pace.once_s < _SHORT_S:
        return max(2, min(_CHAINED, room // WAYS, most))
    wanted = max(_BATCH_S / max(launch.pace.once_s, 1e-6), _OF_CLAIMED_S / launch.recorded_s(CANDIDATE))
    return max(2, min(_MOST_IN_BATCH[kind], room, most, math.ceil(wanted)))


def kept_bytes(launch: "Launch") -> int:
    """What the results of a batch will take, about: they are kept until the parent has read them. Known before anybody has claimed anything."""
    if not launch.pace.once_s:
        return 0
    calls = max(_BATCH_S / launch.pace.once_s, _OF_CLAIMED_S / WINDOW_S * launch.pace.per_window)
    return int(min(MEMORY["cpu"] // 4, (1 + min(calls, _MOST_IN_BATCH["cpu"])) * launch.trials.last["output_bytes"]))


@dataclass(frozen=True)
class _Contents:
    """Input sets that the candidate has not seen, and where they and the results lie."""

    questions: list[dict[str, Any]]
    places: dict[str, Any]
    early_s: float
    """Processor seconds of the candidate's tree while they were made, when nobody may work on them."""

    @property
    def choice(self) -> dict[str, Any] | None:
        return self.places.get("choice")

    @property
    def calls(self) -> int:
        """Calls that are made on them."""
        return len(self.questions) // ways_of(self.choice) if self.choice else len(self.questions)


def _prepare(launch: "Launch", sets: int, choice: dict[str, Any] | None, unusual: bool = False) -> _Contents:
    """Contents that were never asked for before, in buffers that both sides have open."""
    session, oracle = launch.session, launch.session.oracle
    assert oracle is not None
    stay = _stays(launch)
    handed = math.ceil(JUDGED_SHARE * sets) if stay else sets
    room = session.ask(oracle, {"do": "room", "bytes": handed * (2 * launch.trials.last["output_bytes"] + 4096)})
    _attach(launch, {**launch.sets, **room})
    while True:
        launch.batches_made += 1
        questions = _questions(launch, launch.batches_made, sets, unusual)
        # which sets will be judged is known where no answer chooses them
        keep = [] if session.bench.cuda or choice else launch.draw(sets, "batch", launch.batches_made)
        census, began = launch.census(), time.monotonic()
        places = {**session.ask(oracle, {"do": "contents", "questions": questions, "stack": stay, "keep": keep}), **room, "stay": stay}
        early_s = census.cpu_s() if census is not None and not session.bench.cuda else 0.0
        launch.count_processor_time(BASELINE, census, time.monotonic() - began)  # nobody may watch them come
        if not _attach(launch, places):
            return _Contents(questions, {**places, "choice": choice if "stack" in places else None}, early_s)


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


def _batch(launch: "Launch", side: str, contents: _Contents, call: bool = True, cold: bool = True) -> float:
    """Seconds a call by the parent's clock; on the reference's side without the calls. The outputs of a candidate's batch are judged, at least one in ten."""
    session, child, calls = launch.session, launch.children[side], contents.calls
    ask = launch.ask_candidate if side == CANDIDATE else session.ask
    message = {"do": "batch", "call": call, **contents.places, "forward_seed": contents.questions[0]["forward_seed"]}
    if call and cold and not session.bench.cuda:
        session.evict()  # as before a block: what was just made lies in the caches
    waiting, began = Census(child.pid), time.monotonic()
    reply = ask(child, message)
    wall_s = time.monotonic() - began
    if not session.bench.cuda:
        # the kernel's account of waiting for a core: a busy machine makes nobody look slower than it is. Processor time would not do:
        # work in a process that left the tree has none here
        helped_s = waiting.helped_s(wall_s)
        launch.faults[side] = waiting.faults() / calls
        wall_s = max(1e-9, wall_s - waiting.waited_s())
    if side == CANDIDATE:
        answered_s = waiting.cpu_s()
        chosen = launch.draw(calls, "batch", launch.batches_made)
        asked, trees = _present(launch, reply, contents, chosen) if contents.places["stay"] else _handed_over(reply, contents, chosen)
        if not session.bench.cuda:
            # what its processes worked while the contents came, and after the answer until its results were read, is the batch's own
            wall_s += contents.early_s + max(0.0, waiting.cpu_s() - answered_s)
        launch.helped_s = helped_s / calls if not session.bench.cuda else 0.0
        launch.taken.timed_calls += calls
        hold_results(session, launch.trials, launch.taken, [contents.questions[i] for i in asked], trees)
    return wall_s / calls


def _stays(launch: "Launch") -> bool:
    """Whether results stay in the candidate's memory, to be read there: tensors do, on a CPU, where the kernel lets a parent read."""
    return launch.children[CANDIDATE].readable and all(shape is not None for _, shape, _ in launch.trials.last["expected"])


def _present(launch: "Launch", reply: dict[str, Any], contents: _Contents, chosen: list[int]) -> tuple[list[int], list[Any]]:
    """Which questions the chosen results answer, and these, read out of the candidate's memory now, while it is stopped. Refused where one is not there."""
    places, outbox = reply.get("places"), contents.places["outbox"]
    if not isinstance(places, list) or len(places) != contents.calls:
        raise Refused("runtime_error", OUT_OF_FORM, "timing")
    pid, trees, used = launch.children[CANDIDATE].pid, [], 0
    _refuse_views(launch, pid, reply, contents)
    with Path(outbox["path"]).open("r+b") as file:
        try:
            for index in chosen:
                tree, used = fetch(pid, reply, index, file.fileno(), outbox["bytes"], used)
                trees.append(tree)
            asked = asked_of(pid, reply, contents.choice, contents.calls) if contents.choice else list(range(contents.calls))
        except Absent as absent:
            raise Refused("cheated", f"a result is not there when its call has been answered: {absent}", "timing", "resting") from None
    return [asked[index] for index in chosen], trees


def _refuse_views(launch: "Launch", pid: int, reply: dict[str, Any], contents: _Contents) -> None:
    """Raises Refused for a result that lies among its inputs, or where another call's lies, as no trial allowed it: a copy that is asked for, and made where
    it is judged alone."""
    tensors = [path for path, shape, _ in launch.trials.last["expected"] if shape is not None]
    try:
        given = mapped(pid, str(Path(contents.places["inbox"]["path"]).parent))
        with_input, with_last = ([tensors[number] for number in sorted(found)] for found in (views(reply, given), repeated(reply)))
    except (Absent, IndexError):
        return  # `fetch` and the oracle say so
    launch.session.check("timing", "aliasing", with_input, with_last, launch.trials.aliases, where=TIMED)


def _handed_over(reply: dict[str, Any], contents: _Contents, chosen: list[int]) -> tuple[list[int], list[Any]]:
    """The chosen results among all that were handed over."""
    trees = reply.get("trees")
    if not isinstance(trees, list) or len(trees) != len(contents.questions):
        raise Refused("runtime_error", OUT_OF_FORM, "timing")
    return chosen, [trees[i] for i in chosen]
