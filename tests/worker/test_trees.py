"""Nested values of tensors: what counts as unchanged, and what answers can judge nobody."""

from pathlib import Path

import pytest
import torch

from popcorn.worker.failure import Failed, failure_of
from popcorn.worker.trees import overlapping, same_values, steps, unjudgeable

NAN = float("nan")


@pytest.mark.parametrize(
    ("now", "before", "same"),
    [([1.0, NAN], [1.0, NAN], True), ([1.0, NAN], [1.0, 2.0], False), ([1.0, 2.0], [1.0, NAN], False), ([1.0], [1.0, 2.0], False)],
)
def test_an_input_overwritten_with_nan_is_a_changed_input(now: list[float], before: list[float], same: bool) -> None:
    assert same_values(torch.tensor(now), torch.tensor(before)) is same


def test_an_answer_without_finite_elements_judges_nobody_and_says_what_to_do() -> None:
    assert unjudgeable([("out[0]", torch.ones(2)), ("out[1]", torch.ones(0)), ("out[2]", None)]) is None
    assert unjudgeable([("out", torch.ones(2).to(torch.float8_e4m3fn))]) is None
    assert "no elements" in (unjudgeable([("out", torch.ones(0, 3))]) or "")
    assert "nan_to_num" in (unjudgeable([("out", torch.tensor([1.0, -float("inf")]))]) or "")
    for odd, told in ((torch.eye(2).to_sparse(), "to_dense"), (Path("x"), "let it return tensors"), (2.5, "float, which holds no tensor")):
        with pytest.raises(Failed, match=told):
            unjudgeable([("out", odd)])


def test_float8_is_compared_by_its_steps() -> None:
    values = torch.tensor([0.0, -0.0, 0.001953125, 448.0, float("nan")]).to(torch.float8_e4m3fn)
    assert steps(values)[:2].tolist() == [0, 0] and len(set(steps(values).tolist())) == 4, "both zeros are one, NaN is no number"
    assert steps(torch.ones(1)).dtype == torch.float32 and steps(None) is None


def test_a_view_without_elements_shares_nothing() -> None:
    x = torch.ones(2, 3)
    assert overlapping((x[:, :0], x * 2), [x]) == [] and overlapping((x[:, :1],), [x]) == ["out[0]"]


def test_an_import_of_a_neighbour_says_that_a_candidate_is_one_file() -> None:
    assert "a candidate is one file" in failure_of(ModuleNotFoundError("No module named 'helper'"), "a.py").reason
    assert "one file" not in failure_of(ValueError("x"), "a.py").reason
