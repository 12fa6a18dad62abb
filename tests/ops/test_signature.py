"""Signatures: sizes read from calls, sentences for what does not fit, least bytes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from popcorn.ops.signature import BadOp, Mismatch, Signature

NORM = Signature.read({"x": "... D", "weight": "D", "eps": 1e-6}, "... D")


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(1, 9))
def test_leading_sizes_count_as_one(leading, width):
    bound = NORM.bind((torch.empty(*leading, width), torch.empty(width)), {})
    product = 1
    for size in leading:
        product *= size
    assert bound.dims == {"R": product, "D": width} and bound.scalars == {"eps": 1e-6}


def test_arguments_may_be_named():
    assert NORM.bind((), {"weight": torch.empty(4), "x": torch.empty(2, 4), "eps": 0.1}).scalars == {"eps": 0.1}


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((torch.empty(2, 4),), {}, "'weight' is missing"),
        ((torch.empty(2, 4), torch.empty(3)), {}, r"weight has shape \(3,\); expected D = 4"),
        ((torch.empty(2, 4), torch.empty(1, 4)), {}, r"weight has shape \(1, 4\); expected \(D\)"),
        ((torch.empty(2, 4), torch.empty(4), 1, 2), {}, "4 arguments were given; expected at most 3"),
        ((torch.empty(2, 4),), {"bias": 1}, "'bias' is no argument; expected x, weight, eps"),
        ((torch.empty(2, 4),), {"x": 1}, "'x' is given twice"),
    ],
)
def test_what_does_not_fit_is_said(args, kwargs, text):
    with pytest.raises(Mismatch, match=text):
        NORM.bind(args, kwargs)


def test_least_bytes_count_every_tensor_once_and_an_index_as_eight():
    assert NORM.min_bytes({"R": 10, "D": 4}, 2) == 2 * (10 * 4 * 2 + 4)
    loss = Signature.read({"logits": "... V", "target": "... < V"}, "")
    assert loss.min_bytes({"R": 3, "V": 5}, 4) == 3 * 5 * 4 + 3 * 8 + 4
    assert loss.dims == ("R", "V")


def test_a_text_that_is_no_list_of_sizes_is_refused():
    with pytest.raises(BadOp, match="is no list of sizes"):
        Signature.read({"x": "D ..."}, "D")


def test_the_schema_is_torchs():
    assert NORM.schema() == "(Tensor x, Tensor weight, float eps) -> Tensor"
