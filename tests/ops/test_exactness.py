"""Kernels in C++ lose no more than torch itself does, on the values that float32 sums and differences are worst at."""

import pytest
import torch

from popcorn.ops.registry import find_op, list_ops

SIZES = {"A": 2, "B": 2, "C": 64, "D": 3000, "E": 64, "H": 2, "K": 64, "N": 16, "R": 8, "S": 500, "T": 300, "V": 3000, "W": 4}
ROWS_OF_CPP = [op for op in list_ops() if "popcorn" in find_op(op).implementations]
KINDS = {"large": lambda t: 30 * t, "far from 0": lambda t: t + 100}
FLOOR = 5e-7
"""Of the truth's rms: four roundings of float32."""


def sizes_of(op):
    """A size that is an argument, too, has its default; a letter that no op had before is small."""
    return {name: op.signature.scalars.get(name, SIZES.get(name, 24)) for name in op.signature.dims}


def results(function, inputs):
    """Outputs and gradients."""
    leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in inputs]
    made = function(*leaves)
    outputs = [out for out in (made if isinstance(made, tuple) else (made,)) if out.is_floating_point()]
    generator = torch.Generator().manual_seed(3)
    slopes = [torch.randn(out.shape, dtype=torch.float64, generator=generator).bfloat16().to(out.dtype) for out in outputs]
    return [*(out.detach() for out in outputs), *torch.autograd.grad(outputs, [leaf for leaf in leaves if leaf.requires_grad], slopes)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ROWS_OF_CPP)
def test_errors_in_cpp_are_at_most_about_twice_those_of_torch(name, kind):
    op = find_op(name)
    torch.manual_seed(11)
    drawn = [KINDS[kind](t) if t.is_floating_point() else t for t in op.make_inputs(sizes_of(op))]
    inputs = [t.log_softmax(-1) if name in ("kl_div", "jsd") else t for t in drawn]
    truth = results(op.reference, [t.double() if t.is_floating_point() else t for t in inputs])
    for index, (mine, theirs, true) in enumerate(zip(results(op["popcorn"], inputs), results(op.reference, inputs), truth, strict=True)):
        scale = true.square().mean().sqrt().item() or 1.0
        error, own = ((one.double() - true).square().mean().sqrt().item() / scale for one in (mine, theirs))
        assert error <= max(2.5 * own, FLOOR), f"result {index}: {error:.3g} of the truth's rms, torch {own:.3g}"


def test_the_gradient_of_a_saturated_softmax_is_no_noise():
    x = torch.zeros(3, 64)
    x[:, 5] = torch.tensor(
        [10.0, 20.0, 25.0]
    )  # one element has nearly all of it, and its gradient nearly all cancels: torch is off by a third at 20
    op = find_op("softmax")
    truth, mine = results(op.reference, [x.double()])[1], results(op["popcorn"], [x])[1]
    assert ((mine.double() - truth).abs() <= 1e-2 * truth.abs()).all()


@pytest.mark.parametrize("name", ["kl_div", "jsd", "rope", "int8_matmul"])
def test_gradients_that_nobody_needs_may_stay_away(name):
    op = find_op(name)
    torch.manual_seed(5)
    drawn = op.make_inputs(sizes_of(op))
    inputs = [t.log_softmax(-1) if name in ("kl_div", "jsd") else t for t in drawn]
    for index in [place for place, t in enumerate(inputs) if t.is_floating_point()]:  # one alone
        made = []
        for run in (op["popcorn"], op.reference):
            given = [t.clone().requires_grad_() if place == index else t for place, t in enumerate(inputs)]
            made.append(torch.autograd.grad(run(*given).square().sum(), [given[index]])[0])
        torch.testing.assert_close(*made, rtol=1e-3, atol=1e-4 * made[1].abs().max().item())


@pytest.mark.parametrize(
    ("row", "expected"), [([-torch.inf] * 3, -torch.inf), ([torch.inf, 0, 1], torch.inf), ([torch.nan, -torch.inf, 0], torch.nan)]
)
def test_log_of_a_sum_of_exponentials_knows_infinities(row, expected):
    made = find_op("logsumexp")["popcorn"](torch.tensor([row]))
    torch.testing.assert_close(made, torch.tensor([expected]), equal_nan=True)


def test_a_row_of_a_router_with_nan_and_equals_is_ordered_as_torch_orders_it():
    logits = torch.tensor([[1.0, 3.0, 3.0, torch.nan, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0], [torch.inf, 1.0, -torch.inf, 2.0, torch.inf]])
    op = find_op("top_k_router")
    for k in (1, 3, 5):
        assert torch.equal(op["popcorn"](logits, k)[1], op.reference(logits, k)[1])


@pytest.mark.parametrize("order", [[0, 0, 2, 3], [0, 1, 2, 4], [-1, 1, 2, 3]])
def test_an_order_that_is_no_permutation_is_refused_where_rows_would_stay_unwritten(order):
    combine = find_op("moe_combine")["popcorn"]
    with pytest.raises(RuntimeError, match="returned 3"):
        combine(torch.ones(4, 8), torch.tensor(order), torch.ones(2, 2))
