"""Declared parameters: read, set, tuned; no expression of a kernel runs as code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.errors import BadSearch
from popcorn.search.program import Judged, Proposal
from popcorn.search.proposers.replay import Replay
from popcorn.search.templates import read_template, set_parameters
from tests.search.made import right, run

NATIVE = """#include "popcorn_kernel.h"
// popcorn: tune TILE = 8, 16, 32
// popcorn: tune UNROLL = 1..4
// popcorn: where TILE * UNROLL <= 64 and TILE % 8 == 0
#define TILE 16
#define UNROLL 2  // as guessed
int popcorn_forward(void) { return TILE * UNROLL; }
"""
TRITON = """# popcorn: tune BLOCK = 128, 256
# popcorn: tune WARPS = 4, 8
import triton
WARPS = 4
class ModelNew:
    def forward(self, x):
        kernel[(1,)](x, "ä", BLOCK=128, num_warps=WARPS)
"""


def test_macros_of_c_and_cuda_are_read_and_set():
    found = read_template(NATIVE)
    assert found.values == {"TILE": (8, 16, 32), "UNROLL": (1, 2, 3, 4)} and found.written == {"TILE": 16, "UNROLL": 2}
    assert len(found.points()) == 10 and not found.allows({"TILE": 32, "UNROLL": 3})
    changed = set_parameters(NATIVE, {"TILE": 32, "UNROLL": 1})
    assert "#define TILE 32\n#define UNROLL 1  // as guessed" in changed and read_template(changed).written == {"TILE": 32, "UNROLL": 1}


def test_constants_and_launch_arguments_of_triton_are_read_and_set():
    found = read_template(TRITON)
    assert found.written == {"BLOCK": 128, "WARPS": 4}
    changed = set_parameters(TRITON, {"BLOCK": 256, "WARPS": 8})
    assert 'kernel[(1,)](x, "ä", BLOCK=256, num_warps=WARPS)' in changed and "\nWARPS = 8\n" in changed


@pytest.mark.parametrize(
    "condition", ["__import__('os').system('true')", "TILE.bit_length() > 2", "(lambda: 1)()", "TILE ** 99999999 > 1", "OTHER > 1", "1 if"]
)
def test_a_condition_is_never_code(condition):
    with pytest.raises(BadSearch, match="where"):
        read_template(NATIVE.replace("TILE * UNROLL <= 64 and TILE % 8 == 0", condition))


@given(st.text(max_size=80))
def test_any_declaration_is_read_or_refused(text):
    try:
        read_template(NATIVE.replace("8, 16, 32", text).replace("\r", ""))
    except BadSearch:
        pass


class ByTile:
    """Fastest at TILE 32, UNROLL 2; UNROLL 4 is wrong."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def judge(self, source: str) -> Judged:
        self.asked.append(source)
        point = read_template(source).written
        if point["UNROLL"] == 4:
            return Judged(outcome="wrong_values")
        return right(point["TILE"] / 16 * (1.5 if point["UNROLL"] == 2 else 1.0))


def test_few_points_are_all_measured_the_best_few_again_and_the_best_becomes_a_program(tmp_path):
    judge = ByTile()
    found = run(tmp_path, Replay([]), judge, seeds=(NATIVE,), evaluations=13, tune=12, attempts=1)
    assert (
        found.best.proposal.params == {"TILE": 32, "UNROLL": 2} and found.best.proposal.operator == "tune" and len(found.best.measures) == 2
    )
    assert len(set(judge.asked)) == 10 and len(judge.asked) == 12, "the text itself, nine points, two of them again"
    table = found.progress.notes[found.progress.history[0].id]
    assert "TILE=32, UNROLL=2: 3.00×" in table and "wrong_values" in table


def test_many_points_are_chosen_by_optuna_the_same_ones_after_a_kill(tmp_path):
    wide = NATIVE.replace("8, 16, 32", "1..48").replace("1..4", "1..3").replace(" and TILE % 8 == 0", "")
    judge = ByTile()
    found = run(tmp_path, Replay([]), judge, seeds=(wide,), evaluations=14, tune=10, attempts=1)
    assert found.best.proposal.params["TILE"] > 16 and 4 <= len(found.progress.tried) <= 10
    again = ByTile()
    other = run(tmp_path, Replay([]), again, seeds=(wide,), evaluations=14, tune=10, attempts=1)
    assert not again.asked and other.progress.tried == found.progress.tried


def test_what_tuning_found_goes_to_the_next_prompt(tmp_path):
    seen = []

    class Looking:
        name = "looking"

        def propose(self, context):
            seen.append(context.notes)
            return Proposal(source="")

    run(tmp_path, Looking(), ByTile(), seeds=(NATIVE,), evaluations=16, tune=12, attempts=1)
    assert "TILE=32, UNROLL=2: 3.00×" in seen[0]
