"""The battery itself: enough of it, and complete heads."""

from pathlib import Path

import pytest

from popcorn.audit.samples import read_sample, read_samples
from popcorn.verify.defences.registry import NAMES


def test_there_are_as_many_samples_as_were_promised() -> None:
    assert len(read_samples("evil", gpu=False)) >= 90
    assert len(read_samples("honest", gpu=False)) >= 60


def test_every_cpu_entry_of_the_catalogue_is_tried() -> None:
    tried = {number for one in read_samples("evil") for number in one.catalogue}
    elsewhere = {47, 55}  # a small working set and the best of many runs are matters of measuring, not tricks of a file
    assert set(range(1, 61)) - tried - elsewhere == set()


def test_a_cheat_names_a_defence_that_exists() -> None:
    assert {one.caught_by for one in read_samples("evil")} - {None} <= set(NAMES)


def test_a_head_without_a_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('"""About."""\nOUTCOMES = {"cheated"}\n')
    with pytest.raises(ValueError, match="PROBLEM"):
        read_sample(path, "evil")
