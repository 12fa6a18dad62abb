"""Inputs of every kind: same shapes and types, in the range that the problem's own call promises, the same for the same seed."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.verify.compare import compare
from popcorn.verify.inputs import DISTRIBUTIONS, Drawing, cast, lay_out, nudge
from popcorn.verify.judge import FLOORS, judge_values

SHAPES = st.lists(st.integers(0, 7), max_size=4)
FLOATS = st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16])
KINDS = st.sampled_from(DISTRIBUTIONS)


def draw(distribution: str, function, *args, seed: int = 0, **more) -> torch.Tensor:
    torch.manual_seed(seed)
    with Drawing(distribution):
        return function(*args, **more)


@settings(max_examples=100, deadline=None)
@given(KINDS, SHAPES, FLOATS, st.sampled_from([torch.randn, torch.rand]), st.integers(0, 2**31))
def test_shape_and_dtype_are_those_of_the_plain_call_and_values_are_finite(distribution, shape, dtype, function, seed):
    drawn = draw(distribution, function, shape, dtype=dtype, seed=seed)
    assert type(drawn) is torch.Tensor and drawn.shape == torch.Size(shape) and drawn.dtype == dtype
    assert torch.isfinite(drawn).all()
    if function is torch.rand:
        assert (drawn >= 0).all() and (drawn < 1).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_many_elements_of_any_type_stay_finite_and_in_range(distribution, dtype):
    """float16 has no number for the index 70 000, bfloat16 none between 0.996 and 1."""
    drawn = draw(distribution, torch.rand, 1, 200_000, dtype=dtype)
    assert (drawn >= 0).all() and (drawn < 1).all()
    assert torch.isfinite(draw(distribution, torch.randn, 1, 200_000, dtype=dtype)).all()


@given(KINDS, SHAPES, st.integers(0, 2**62))
@settings(max_examples=50, deadline=None)
def test_the_same_seed_draws_the_same_numbers(distribution, shape, seed):
    assert torch.equal(draw(distribution, torch.randn, shape, seed=seed), draw(distribution, torch.randn, shape, seed=seed))


@pytest.mark.parametrize("draw", [torch.randn, torch.rand])
def test_a_large_tensor_is_drawn_in_parts_that_depend_on_the_seed_alone(draw, monkeypatch):
    def numbers(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        with Drawing("normal"):
            return draw(3, 1 << 18)

    one = numbers(1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert torch.equal(one, numbers(1)) and not torch.equal(one, numbers(2))
    mean, std = (0.0, 1.0) if draw is torch.randn else (0.5, 12**-0.5)
    for row in one:
        assert abs(float(row.mean()) - mean) < 0.01 and abs(float(row.std()) - std) < 0.01
    assert torch.corrcoef(one).fill_diagonal_(0).abs().max() < 0.01
    with Drawing("normal"):
        assert draw((600, 600), dtype=torch.float64, requires_grad=True).requires_grad


def test_another_seed_draws_other_numbers_under_every_distribution():
    for distribution in DISTRIBUTIONS:
        for function in (torch.randn, torch.rand):
            a, b = (draw(distribution, function, 8, 32, seed=seed) for seed in (1, 2))
            assert not torch.equal(a, b), distribution


def test_every_distribution_has_its_own_character():
    drawn = {name: draw(name, torch.randn, 64, 512) for name in DISTRIBUTIONS}
    plain = drawn["normal"]
    assert drawn["uniform"].abs().max() <= 3**0.5 + 1e-5 and drawn["uniform"].std() == pytest.approx(1, abs=0.05)
    changed, peaks = drawn["large"] != plain, drawn["large"] > 100
    scaled = changed.sum(-1) > 1  # but for the element below the largest one
    assert torch.equal(drawn["large"][scaled][~peaks[scaled]], (plain[scaled] * 8)[~peaks[scaled]]) and not scaled[0]
    assert 31 <= scaled.sum() <= 32 + 1 and peaks.sum() == 3 and torch.equal(drawn["small"], plain * 0.01)
    assert torch.equal(draw("large", torch.randn, ()), draw("normal", torch.randn, ()) * 8)
    assert (drawn["equal_rows"] == plain[:1]).all()
    assert (drawn["one_hot"] == plain * 0.1).float().mean() == pytest.approx(15 / 16, abs=0.02)
    wave = drawn["structured"].flatten()
    assert (wave[1:] - wave[:-1]).abs().mean() > 0.1, "neighbours differ, or a shifted index would not show"


@pytest.mark.parametrize("shape", [(9,), (48, 96), (4, 3, 8, 8)])
def test_among_large_values_are_two_in_each_direction_whose_exponentials_overflow(shape):
    x = draw("large", torch.randn, *shape)
    for axis in range(len(shape)):
        right = torch.softmax(x.double(), axis)
        assert not torch.isfinite(torch.exp(x) / torch.exp(x).sum(axis, keepdim=True)).all(), "a softmax without its maximum would pass"
        clamped = torch.exp(x.clamp(max=80).double())
        assert (clamped / clamped.sum(axis, keepdim=True) - right).abs().max() > 0.1, "so would one that clamps"
    assert torch.isfinite(x.half().square()).all()


@pytest.mark.parametrize("seed", range(30))
def test_the_first_of_several_rows_never_tells_of_large_values(seed):
    torch.manual_seed(seed)
    with Drawing("large"):
        made = [torch.randn(4, 8), torch.randn(2, 3, 8), torch.randn(2, 8)]
    assert all(one.flatten()[:8].abs().max() < 8 and one.abs().max() > 100 for one in made)


def test_the_largest_of_millions_times_any_other_large_value_is_within_half_precision():
    """Else attention that keeps its scores in float16 would be wrong now and then, by its seed."""
    x = draw("large", torch.randn, 2048, 2048)
    assert x.max() * x[x.abs() < 100].abs().max() < 65504


def test_a_mean_square_of_every_second_column_of_large_values_is_wrong():
    for rows in (1024, 4096):
        x = draw("large", torch.randn, rows, 512).double()
        whole = x.square().mean()
        assert all(abs(float(x[:, first::2].square().mean() / whole) - 1) > 0.02 for first in (0, 1)), "bfloat16's tolerance is 0.008"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_plain_loop_in_float32_over_a_row_of_thousands_is_within_the_floor(distribution, seed):
    """What a first kernel does: one running sum. Where most terms are equal all of its roundings go the same way."""
    torch.manual_seed(seed)
    with Drawing(distribution):
        x = torch.randn(64, 4096)
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    running = torch.from_numpy(np.add.accumulate(powers.numpy(), axis=-1, dtype=np.float32))
    truth = torch.softmax(x.double(), -1)
    errors = compare("out", powers / running[:, -1:], None, truth, torch.softmax(x, -1), None, FLOORS["float32"])
    assert judge_values(errors, FLOORS["float32"]) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_draws_in_place_keep_their_own_mean_scale_and_range(distribution, dtype):
    empty = torch.zeros(64, 128, dtype=dtype)
    drawn = draw(distribution, empty.uniform_, 3, 5)
    assert drawn is empty and bool(((drawn >= 3) & (drawn <= 5)).all()) and float(drawn.std()) > 0
    around = draw(distribution, torch.zeros(64, 128).normal_, 100.0, 0.01)
    beside = draw(distribution, torch.normal, 100.0, 0.01, (64, 128))
    plain = draw(distribution, torch.randn, 64, 128)
    for one in (around, beside):
        assert torch.allclose((one.double() - 100) / 0.01, plain.double(), atol=2e-2 + 0.01 * float(plain.abs().max()))


def test_in_place_draws_of_a_kind_are_of_that_kind():
    assert float((draw("one_hot", torch.zeros(64, 128).uniform_, -1.0, 1.0) > -0.8).double().mean()) < 0.1
    rows = draw("equal_rows", torch.zeros(8, 16).normal_)
    assert bool((rows == rows[0]).all())
    fixed = torch.ones(4)
    assert torch.equal(draw("large", torch.zeros(4).normal_, 1.0, 0.0), fixed)
    assert draw("large", torch.normal, torch.zeros(4), torch.ones(4)).shape == (4,)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_integers_booleans_and_constants_are_left_alone(distribution):
    for function, args in ((torch.randint, (0, 9, (64,))), (torch.zeros, (4,)), (torch.randperm, (16,)), (torch.linspace, (0, 1, 5))):
        assert torch.equal(draw(distribution, function, *args), draw("normal", function, *args))
    assert torch.equal(draw(distribution, torch.randn, 4, dtype=torch.complex64), draw("normal", torch.randn, 4, dtype=torch.complex64))


def test_what_a_problem_makes_of_its_numbers_keeps_its_meaning():
    def get_inputs():
        logits = torch.randn(16, 64)
        weights = torch.softmax(logits, -1)
        index = (torch.rand(16) * 64).long()
        mask = torch.rand_like(logits) < 0.5
        return weights, index, mask

    for distribution in DISTRIBUTIONS:
        weights, index, mask = draw(distribution, get_inputs)
        assert torch.allclose(weights.sum(-1), torch.ones(16), atol=1e-4)
        assert index.min() >= 0 and index.max() < 64 and mask.dtype is torch.bool


def test_an_unknown_distribution_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="one_hot"):
        Drawing("cauchy")


def test_nothing_is_replaced_outside():
    with Drawing("large"):
        torch.manual_seed(0)
        torch.randn(3)
    torch.manual_seed(0)
    plain = torch.randn(3)
    assert torch.equal(plain, draw("normal", torch.randn, 3))


TREE = {"x": torch.randn(3, 4), "more": [torch.arange(3), (torch.ones(2, 2, dtype=torch.bool), 1.5, None, "text")]}


def test_cast_changes_floating_tensors_alone():
    changed = cast(TREE, torch.bfloat16)
    assert changed["x"].dtype is torch.bfloat16 and changed["more"][0].dtype is torch.int64
    assert changed["more"][1][0].dtype is torch.bool and changed["more"][1][1:] == (1.5, None, "text")


@given(SHAPES, st.sampled_from(["contiguous", "transposed", "sliced"]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_layout_changes_strides_and_no_value(shape, layout, seed):
    torch.manual_seed(seed)
    x = torch.randn(shape)
    laid = lay_out([x], layout)[0]
    assert torch.equal(laid, x) and laid.dtype == x.dtype
    if layout == "contiguous":
        assert laid.is_contiguous()


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
def test_these_layouts_are_not_contiguous(layout):
    assert not lay_out(torch.randn(3, 4, 5), layout).is_contiguous()


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="diagonal"):
        lay_out(torch.ones(2), "diagonal")


@pytest.mark.parametrize("precision", [torch.float32, torch.float16, torch.bfloat16])
def test_a_nudge_moves_by_at_most_half_a_unit_in_the_last_place(precision):
    x = torch.randn(10_000, dtype=torch.float64)
    epsilon = torch.finfo(precision).eps
    nudged = nudge({"x": x, "i": torch.arange(3)}, epsilon, torch.Generator().manual_seed(1))
    relative = ((nudged["x"] - x) / x).abs()
    assert relative.max() <= epsilon / 2 * (1 + 1e-6) and relative.mean() == pytest.approx(epsilon / 4, rel=0.1)
    assert torch.equal(nudged["i"], torch.arange(3)) and not math.isclose(float(relative.max()), 0)


def test_equal_values_are_told_apart_by_a_nudge_that_moves_zeros():
    x = torch.zeros(64, 128, dtype=torch.float64)
    x[:, ::40] = 3.0
    first = torch.topk(x, 6).indices
    either = [torch.topk(nudge(x, way * 2.0**-20, torch.Generator().manual_seed(1), least=True), 6).indices != first for way in (1, -1)]
    assert (either[0] | either[1])[:, 4:].all()  # of 124 zeros any two may come
    assert torch.equal(nudge(x, 2.0**-20, torch.Generator().manual_seed(1)) == 0, x == 0)
