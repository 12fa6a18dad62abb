"""Without any one defence, a cheat passes that it is there for. Checks are left out by their registry; of what holds by construction, the one
place that makes it is replaced here: nothing in the package can switch it off."""

import importlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from popcorn.audit.battery import Answer, request_of, run
from popcorn.audit.samples import read_samples
from popcorn.errors import HarnessFailure
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.verify.defences.registry import NAMES, switched_off
from popcorn.verify.judge import EARLIER
from popcorn.worker import batch, comparing, judging, launch, nursery, planning, row, session
from popcorn.worker import bench as bench_module
from popcorn.worker.bench import Bench
from popcorn.worker.session import Session

from .weakened import WITHOUT

CHECKS = {
    "exact_type": "lazy_tensor", "truth": "zeros", "mutation": "cheaper_inputs", "aliasing": "static_buffer", "flags": "tf32_flag",
    "clock": "patched_timer", "cores": "stolen_cores", "peak_memory": "forged_memory", "structure": "broadcast_output",
    "repeat": "alternating",
}  # fmt: skip
"""Defence by check → a cheat that needs it."""
SAMPLES = {one.name: one for one in read_samples("evil")}
evaluating = importlib.import_module("popcorn.evaluate")


def judged(name: str, bench: Bench, store: Store) -> Answer:
    (answer,) = run([SAMPLES[name]], bench, store, "cpu")
    return answer


def gets_away(answer: Answer) -> None:
    """The cheat is `correct`, and where it was after speed it has some."""
    assert answer.record.verdict.correct, answer.sentence()
    assert not answer.as_it_must or not answer.sample.timed


@pytest.mark.parametrize("defence", list(CHECKS))
def test_without_a_check_a_cheat_is_not_caught_as_it_must(defence: str, bench: Bench, store: Store) -> None:
    sample = SAMPLES[CHECKS[defence]]
    with switched_off(defence):
        (answer,) = run([sample], bench, store, "cpu")
    assert defence not in {violation.defence for violation in answer.record.verdict.violations}
    assert sample.no_gain or not answer.as_it_must, answer.sentence()
    assert answer.record.verdict.outcome != "harness_error"


# -- by construction, made in the parent


def test_without_hidden_seeds_inputs_are_made_again(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "derive", lambda secret, *labels: 42)
    gets_away(judged("remade_inputs", bench, store))


def test_without_fresh_inputs_a_replay_is_fast(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    derive = session.derive
    monkeypatch.setattr(session, "derive", lambda secret, *labels: derive(secret, *labels[:1]))
    # of one seed other kinds of values differ, and not always in the corners
    monkeypatch.setattr(judging, "_PLAN", ("normal",))
    monkeypatch.setattr(comparing, "check_batches", batch.check_batch)
    # a problem whose every trial has one answer is refused before anybody replays it
    monkeypatch.setattr(judging, "BLIND", tuple(name for name in judging.BLIND if name != EARLIER))
    answer = judged("cache_by_corner", bench, store)
    assert answer.record.verdict.correct and not answer.as_it_must, answer.sentence()


def test_without_fresh_weights_a_folded_one_is_right(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    derive = session.derive
    monkeypatch.setattr(session, "derive", lambda secret, *labels: derive(secret, *(labels[:1] if labels[0] == "weights" else labels)))
    monkeypatch.setattr(judging, "plan_trials", lambda *_: [("normal", "contiguous", False)] * 5)  # so that every weight has one size
    gets_away(judged("folded_weight", bench, store))


def test_without_hidden_sizes_a_hard_coded_one_is_right(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = judging.plan_trials
    monkeypatch.setattr(judging, "plan_trials", lambda *asked: [(values, layout, False) for values, layout, _ in plan(*asked)])
    gets_away(judged("hard_coded_size", bench, store))


def test_without_value_kinds_missing_tails_are_right(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_PLAN", ("normal",))
    gets_away(judged("ordinary_values_only", bench, store))


def test_without_timed_outputs_work_is_skipped_where_it_is_timed(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (launch, batch, row):
        monkeypatch.setattr(module, "hold_results", lambda *_: None)
    gets_away(judged("phase_by_count", bench, store))


def test_without_rest_work_is_done_after_the_answer(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # those that would see it work where it cannot rest, or answer late because of that, are left out of both
    with switched_off("idle"), switched_off("cores"), switched_off("clock"):
        assert not judged("late_batch", bench, store).record.verdict.correct
        monkeypatch.setattr(nursery.Child, "_signal", lambda self, which: None)

        def later(act: Callable[..., Any]) -> Callable[..., Any]:
            def acting(*arguments: Any) -> Any:
                time.sleep(0.3)  # who works on has this long, where a stopped process has none
                return act(*arguments)

            return acting

        fetch, seen = batch.fetch, []

        def fetch_later(pid: int, told: dict[str, Any], *asked: Any) -> Any:
            if not any(told is one for one in seen):  # once a batch
                seen.append(told)
                time.sleep(0.3)
            return fetch(pid, told, *asked)

        monkeypatch.setattr(batch, "fetch", fetch_later)
        rows, held = row._row, row.hold_results
        monkeypatch.setattr(row, "hold_results", later(held))
        # a row that settled nothing is not held, and what works on for it must have ended before the next
        monkeypatch.setattr(row, "_row", lambda launch, side, *asked: (later(rows) if side == "candidate" else rows)(launch, side, *asked))
        gets_away(judged("late_batch", bench, store))


def test_without_idle_who_cannot_be_stopped_burns_the_references_time(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery.Child, "_signal", lambda self, which: None)

    def found() -> set[str]:
        return {violation.defence for violation in judged("forked_burner", bench, store).record.verdict.violations}

    assert found() == {"idle"}
    with switched_off("idle"):
        assert "idle" not in found()  # its own calls are slow as well, where it burns all the time


def test_without_turns_an_answer_counts_for_a_question_it_was_not_given(
    bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery.secrets, "token_hex", lambda size: "00" * size)
    answer = judged("doubled_answers", bench, store)
    assert not answer.as_it_must, answer.sentence()


def test_without_the_parents_record_a_printed_one_is_believed(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = evaluating.judge_candidate

    def believing(current: Session) -> tuple[Any, Any]:
        verdict, trials = judge(current)
        assert current.candidate is not None
        printed = [json.loads(line) for line in current.candidate.output().splitlines() if line.startswith("{")]
        return verdict.model_copy(update=printed[-1]["verdict"]), trials

    monkeypatch.setattr(evaluating, "judge_candidate", believing)
    gets_away(judged("forged_stdout", bench, store))


def test_without_typed_outcomes_a_failure_is_ours(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(self: Session, child: Any, message: dict, stage: Any, timeout_s: float | None = None, serve: Any = None) -> dict:
        failed = (reply := child.ask(message, timeout_s or 60.0, serve)).get("failed")
        if failed and failed["outcome"] == "harness_error":
            raise HarnessFailure(failed["reason"])
        return reply["ok"]

    monkeypatch.setattr(Session, "ask_candidate", trusting)
    assert judged("claims_our_fault", bench, store).record.verdict.outcome == "harness_error"


def test_without_limits_nothing_ends_a_hang(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[nursery.Child] = []
    ask = nursery.Child.ask

    def patient(self: nursery.Child, message: dict, timeout_s: float, serve: Any = None) -> dict:
        asked.append(self)
        return ask(self, message, 600.0, serve)

    monkeypatch.setattr(nursery.Child, "ask", patient)
    request = request_of(SAMPLES["hang"], "cpu").model_copy(update={"timeout_s": 0.5})
    records: list[Record] = []
    thread = threading.Thread(target=lambda: records.append(evaluating.evaluate(request, bench, store)))
    thread.start()
    thread.join(5.0)
    assert thread.is_alive() and not records
    asked[-1].kill()
    thread.join(20.0)
    assert records[0].verdict.outcome == "crash"


def test_without_the_speed_of_light_a_false_clock_is_believed(bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "cache_bytes", 64 << 10)  # so that a small problem counts as one that no cache holds
    monkeypatch.setattr(planning, "MAX_PER_WINDOW", 2)  # a claim of a microsecond asks for many calls
    with switched_off("clock"):
        assert judged("patched_block", bench, store).record.verdict.violations[0].defence == "speed_of_light"
        with switched_off("speed_of_light"):
            gets_away(judged("patched_block", bench, store))


# -- by construction, made in the candidate's process


@pytest.fixture(scope="module")
def weak_bench() -> Iterator[Bench]:
    """A bench whose zygote's children leave out what their environment names."""
    start = nursery.subprocess.Popen

    def weakened(command: list[str], **settings: Any) -> Any:
        place = command.index("popcorn.worker.zygote") if "popcorn.worker.zygote" in command else None
        if place is not None:
            command = [command[0], str(Path(__file__).with_name("weakened.py")), *command[place + 1 :]]
        return start(command, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nursery.subprocess, "Popen", weakened)
        made = Bench("cpu")
    with made:
        yield made


@pytest.mark.parametrize(("construction", "cheat"), [("sandbox", "file_replay"), ("own_process", "frame_walk")])
def test_without_a_construction_of_its_process_a_cheat_gets_away(
    construction: str, cheat: str, weak_bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches = bench_module.private_caches
    assert judged(cheat, weak_bench, store).as_it_must
    monkeypatch.setattr(bench_module, "private_caches", lambda *place: {**caches(*place), WITHOUT: construction})
    remove_replays()  # of an earlier run: they answer other questions
    try:
        gets_away(judged(cheat, weak_bench, store))
    finally:
        remove_replays()


def remove_replays() -> None:
    """What file_replay leaves behind where nothing fences it."""
    for folder in ("/dev/shm", "/tmp", "/var/tmp"):
        for path in Path(folder).glob("popcorn-replay-*.pt"):
            path.unlink(missing_ok=True)


def test_every_defence_has_its_test_here() -> None:
    text = Path(__file__).read_text()
    constructions = {
        "hidden_seeds", "fresh_inputs", "fresh_weights", "hidden_sizes", "value_kinds", "timed_outputs", "resting", "turns", "parent_record",
        "typed_outcomes", "limits", "speed_of_light", "sandbox", "own_process", "idle",
    }  # fmt: skip
    assert set(CHECKS) | constructions == set(NAMES)
    assert text.count("def test_without") >= 14
