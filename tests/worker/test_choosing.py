"""Each answer chooses the next question, and the parent reads the same choice in the process's memory."""

import os
from typing import Any

import pytest
import torch

from popcorn.worker import choosing
from popcorn.worker.places import Places
from popcorn.worker.presence import Absent, asked

EXPECTED = [["out[0]", [3, 4], "bool"], ["out[1]", [5, 6], "float32"]]


def choice_of(dtype: str = "float32", scale: float | None = 1.0) -> dict[str, Any] | None:
    return choosing.draw_choice([EXPECTED[0], ["out[1]", [5, 6], dtype]], [None, scale], 2e-5, 7)


def results(count: int, transposed: bool = False) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    made = [torch.randn((6, 5) if transposed else (5, 6), generator=generator) for _ in range(count)]
    return [(torch.ones(3, 4, dtype=torch.bool), one.t() if transposed else one) for one in made]


@pytest.mark.parametrize("transposed", [False, True])
def test_the_parent_knows_which_questions_were_asked(transposed: bool) -> None:
    choice, slots, seen, places = choice_of(), results(200, transposed), [], Places()
    assert choice is not None and choice["tensor"] == 1
    places.fill(list(range(200)), lambda slot: (seen.append(slot), slots[slot])[1], choice)
    assert asked(os.getpid(), places.told(), choice, len(seen)) == seen and len(seen) == 200 // choosing.WAYS
    assert {each % choosing.WAYS for each in seen} == set(range(choosing.WAYS))
    assert [each // choosing.WAYS for each in seen] == list(range(len(seen)))


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
    assert choice_of("bfloat16") is None
    assert choice_of("float32", None) is None
    assert choice_of("int64", None) is not None
    assert choosing.way([[float("inf"), 3.2], [1.5, 2.5]], 1.0) == 3
