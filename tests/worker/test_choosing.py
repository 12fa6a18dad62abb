"""Each answer chooses the next question, and the parent reads the same choice in the process's memory."""

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from popcorn.worker import batch, choosing
from popcorn.worker.mailbox import create, pack
from popcorn.worker.places import Places
from popcorn.worker.presence import Absent, asked

EXPECTED = [["out[0]", [3, 4], "bool"], ["out[1]", [5, 6], "float32"]]


def choice_of(dtype: str = "float32", scale: float | None = 1.0, ways: int = choosing.WAYS) -> dict[str, Any] | None:
    return choosing.draw_choice([EXPECTED[0], ["out[1]", [5, 6], dtype]], [None, scale], 2e-5, 7, ways)


def results(count: int, transposed: bool = False) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    made = [torch.randn((6, 5) if transposed else (5, 6), generator=generator) for _ in range(count)]
    return [(torch.ones(3, 4, dtype=torch.bool), one.t() if transposed else one) for one in made]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("ways", [4, 16])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_parent_knows_which_questions_were_asked(transposed: bool, ways: int, dtype: str) -> None:
    choice, slots, seen, places = choice_of(dtype, ways=ways), results(50 * ways, transposed), [], Places()
    assert choice is not None and choice["tensor"] == 1 and choosing.ways_of(choice) == ways
    slots = [(mask, one.to(getattr(torch, dtype))) for mask, one in slots]
    places.fill(list(range(50 * ways)), lambda slot: (seen.append(slot), slots[slot])[1], choice)
    assert asked(os.getpid(), places.told(), choice, len(seen)) == seen and len(seen) == 50
    assert len({each % ways for each in seen}) > ways // 2
    assert [each // ways for each in seen] == list(range(len(seen)))


def test_an_error_that_passes_steers_hardly_any_choice() -> None:
    choice = choice_of()
    assert choice is not None
    moved = 0
    for _, one in results(300):
        values = [[float(one[tuple(index)]) for index in bit] for bit in choice["bits"]]
        near = [[value + 2e-5 for value in bit] for bit in values]
        moved += choosing.way(values, choice["unit"]) != choosing.way(near, choice["unit"])
    assert moved < 30


def test_results_of_another_form_choose_nothing_and_break_nothing() -> None:
    choice, places = choice_of(), Places()
    assert choice is not None
    places.fill(list(range(8)), lambda slot: torch.full((2,), float("nan")), choice)
    assert asked(os.getpid(), places.told(), choice, 2) == [0, 4]
    with pytest.raises(Absent):
        asked(os.getpid(), {"places": [[0, 0, 0, "x"]], "forms": []}, choice, 1)
    with pytest.raises(Absent):
        asked(os.getpid(), {}, choice, 1)


def test_what_cannot_be_read_or_has_no_scale_decides_nothing() -> None:
    assert choice_of("float8_e5m2") is None
    assert choice_of("bfloat16", None) is None
    assert choice_of("float32", None) is None
    assert choice_of("int64", None) is not None
    assert choosing.way([[float("inf"), 3.2], [1.5, 2.5]], 1.0) == 3


@pytest.mark.parametrize(
    ("once_s", "elements", "ways"),
    [(2e-5, 1 << 10, 4), (3e-4, 1 << 10, 4), (1e-3, 1 << 10, 16), (5e-3, 1 << 15, 16), (5e-3, 1 << 18, 4), (1e-3, 1 << 20, 1)],
)
def test_answers_choose_in_batches_of_long_calls_too_where_inputs_are_small(once_s: float, elements: int, ways: int) -> None:
    """A weight that is read once for all questions made a batch of a millisecond a call five times as quick as its calls."""
    assert batch._ways(launch_of([torch.randn(1, elements)], once_s)) == ways


@pytest.mark.parametrize("inputs", [[torch.randn(8, 4).t()], [torch.randn(4), 3], [torch.randn(8, 8)[:, ::2]]])
def test_what_cannot_be_stacked_is_asked_one_after_the_other(inputs: list[Any]) -> None:
    assert batch._ways(launch_of(inputs, 1e-3)) == 1


def launch_of(inputs: list[Any], once_s: float) -> Any:
    """What `_ways` looks at."""
    size = sum(each.numel() * each.element_size() for each in inputs if isinstance(each, torch.Tensor))
    with tempfile.TemporaryDirectory() as folder:
        packed = pack(inputs, create(Path(folder), "in", 2 * size + 4096, torch.device("cpu")))
    last = {"set": {"inputs": packed}, "input_bytes": size, "output_bytes": 64}
    session = SimpleNamespace(bench=SimpleNamespace(cuda=False))
    return SimpleNamespace(
        pace=SimpleNamespace(once_s=once_s), trials=SimpleNamespace(last=last), session=session, recorded_s=lambda side: once_s
    )


def test_one_batch_of_a_launch_has_unusual_values_and_nobody_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who took a maximum in trials alone was right wherever he was timed: values are ordinary there."""
    asked: list[str] = []
    monkeypatch.setattr(batch, "_stays", lambda launch: True)
    monkeypatch.setattr(batch, "_choice", lambda launch: None)
    monkeypatch.setattr(batch, "_sets", lambda launch, choice: 8)
    monkeypatch.setattr(batch, "check_batch", lambda launch: asked.append("timed"))
    monkeypatch.setattr(batch, "_prepare", lambda launch, sets, choice, unusual: batch._questions(launch, 1, sets, unusual))
    monkeypatch.setattr(batch, "_batch", lambda launch, side, questions, cold: asked.append(f"{side} {questions[0]['distribution']}"))
    orders, trials = set(), SimpleNamespace(kinds={"normal", "large", "one_hot", "structured"})
    for index in range(20):
        session = SimpleNamespace(
            opened={"nominal": {}}, question=lambda dims, *labels, distribution="normal": {"seed": labels[1], "distribution": distribution}
        )
        asked.clear()
        batch.check_batches(SimpleNamespace(session=session, index=index, trials=trials))  # type: ignore[arg-type]
        orders.add(tuple(asked))
    assert orders == {("timed", "candidate large"), ("candidate large", "timed")}
    kinds = [one["distribution"] for one in batch._questions(SimpleNamespace(session=session, index=0, trials=trials), 1, 8, True)]  # type: ignore[arg-type]
    assert kinds.count("large") == 4 and {*kinds} == {"large", "one_hot", "structured"}, "of those that decided something in trials"
    assert {one["distribution"] for one in batch._questions(SimpleNamespace(session=session, index=0, trials=trials), 1, 8)} == {"normal"}  # type: ignore[arg-type]
