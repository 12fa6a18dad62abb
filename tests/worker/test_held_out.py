"""Held-out sizes: apart from the open ones, drawn where they are asked for, and never shown."""

from pathlib import Path

import pytest

from popcorn.audit.samples import FOLDER
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites import costs
from popcorn.suites.problems import find_problem
from popcorn.worker import judging
from popcorn.worker.bench import Bench
from popcorn.worker.held_out import hidden, is_held_out
from popcorn.worker.request import Request

PROBLEM = find_problem(str(FOLDER / "problems" / "softmax.py"))
NOMINAL = {"B": 48, "D": 96}
WRONG = (
    "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
    "        return torch.softmax(x, -1) if x.shape == (48, 96) else torch.ones(x.shape[1], x.shape[0] + 1)\n"
)
RIGHT = WRONG.replace("if x.shape == (48, 96) else torch.ones(x.shape[1], x.shape[0] + 1)", "")


def request(source: str, sizes: str) -> Request:
    return Request(problem=PROBLEM, source=source, language="torch", name="x.py", device="cpu", timing=False, sizes=sizes)  # type: ignore[arg-type]


def test_a_quarter_is_held_out_and_the_rule_needs_no_memory() -> None:
    found = [is_held_out({"B": b, "D": d}) for b in range(32, 65) for d in range(80, 113)]
    assert 0.2 < sum(found) / len(found) < 0.3
    assert is_held_out({"a": 1, "b": 2}) == is_held_out({"b": 2, "a": 1})


def test_only_drawn_sizes_are_hidden() -> None:
    text = "trial 3: out has shape (33, 96); expected (35, 96), 3.5e-02"
    assert hidden(text, {"B": 35, "D": 96}, NOMINAL) == "trial 3: out has shape (33, 96); expected (?, 96), 3.5e-02"
    assert hidden("1 of 8,192 elements, 8,192,000 bytes", {"B": 8192}, NOMINAL) == "1 of ? elements, 8,192,000 bytes"


@pytest.mark.parametrize("sizes", ["open", "held_out"])
def test_trials_draw_the_sizes_that_were_asked_for(sizes: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[int, dict[str, int]] = {}
    draw = judging.draw_dims
    monkeypatch.setattr(judging, "draw_dims", lambda session, index: drawn.setdefault(index, draw(session, index)))
    asked = request(RIGHT, sizes)
    assert evaluate(asked, bench, Store(tmp_path)).verdict.correct
    half = asked.trials // 2  # a final judgement begins with the corners of the ranges
    settings = [dims for index, dims in drawn.items() if sizes == "held_out" and 0 < index < half]
    others = [dims for dims in drawn.values() if dims not in settings]
    assert {is_held_out(dims) for dims in others} == {sizes == "held_out"} and len(drawn) >= 5
    corners = [one["dims"] for one in costs.settings(asked.problem, "cpu")]
    assert all(dims in corners for dims in settings) and bool(settings) == (sizes == "held_out")


def test_the_verdict_says_where_it_failed_and_not_at_which_sizes(bench: Bench, tmp_path: Path) -> None:
    verdict = evaluate(request(WRONG, "held_out"), bench, Store(tmp_path)).verdict
    assert verdict.outcome == "wrong_shape" and verdict.stage == "correctness"
    assert "held-out sizes" in str(verdict.reason) and "expected (?, ?)" in str(verdict.reason).replace("48", "?").replace("96", "?")
