"""The two problems whose published pages started this project: our files do the published mathematics."""

import torch

from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem


def test_l1_29_is_a_log_sum_exp_over_the_leading_dimension() -> None:
    one = load(find_problem("popcorn/L1/29"), "cpu")
    (x,) = one.inputs({"R": 5, "B": 7, "D": 9})
    largest = x.amax(0)
    assert torch.allclose(one.Model()(x), largest + (x - largest).exp().sum(0).log(), atol=1e-6)
    assert torch.isfinite(one.Model()(1e4 * x)).all()


def test_l2_47_is_a_linear_layer_over_the_joined_shards() -> None:
    one = load(find_problem("popcorn/L2/47"), "cpu")
    dims = {"R": 3, "B": 5, "H": 4, "K": 6}
    model, (x,) = one.model(dims), one.inputs(dims)
    weight, bias = model.proj.weight, model.proj.bias
    assert weight.shape == (6, 12)
    by_hand = bias + sum(x[r] @ weight[:, 4 * r : 4 * r + 4].T for r in range(3))
    assert torch.allclose(model(x), by_hand, atol=1e-5)
