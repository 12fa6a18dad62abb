"""The figures of one output beside the truth, held against plain numpy."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from popcorn.verify.compare import Units, all_finite, compare, glance, limit_errors, moved, rms
from popcorn.verify.judge import judge

FLOOR = 2e-5
VALUES = st.floats(-1e6, 1e6, width=32)
SHAPES = npst.array_shapes(min_dims=0, max_dims=3, max_side=6)


def naive(got: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The definitions written out, in float64."""
    got, truth = got.astype(np.float64).ravel(), truth.astype(np.float64).ravel()
    scale = math.sqrt(float(np.mean(truth**2)))
    error = np.abs(got - truth)
    held = error / np.maximum(np.abs(truth), scale) if scale else error
    relative = error / (np.abs(truth) + FLOOR * scale) if scale else error
    beyond = max(1, len(held) // 1000)
    present = np.sort(np.abs(truth[truth != 0]))
    common = max(1e-30, present[(len(present) - 1) // 2]) if len(present) else 1.0
    return {
        "scale": scale,
        "largest": held.max(),
        "p999": np.sort(held)[-beyond],
        "mean": held.mean(),
        "typical": np.minimum(error / np.maximum(np.abs(truth), common), 1).mean(),
        "max_abs": error.max(),
        "mean_abs": error.mean(),
        "max_rel": relative.max(),
        "mean_rel": relative.mean(),
    }


def both(got: torch.Tensor, truth: torch.Tensor, again: torch.Tensor | None = None):
    return compare("out", got, again, truth, truth.to(got.dtype), None, FLOOR)


@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES)
def test_every_figure_equals_its_definition(data, shape):
    arrays = [data.draw(npst.arrays(np.float32, shape, elements=VALUES)) for _ in range(2)]
    got, truth = torch.from_numpy(arrays[0].copy()), torch.from_numpy(arrays[1].copy()).double()
    found, expected = both(got, truth), naive(*arrays)
    for name in ("largest", "p999", "mean", "typical"):
        assert getattr(found.candidate, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-30)
    for name in ("scale", "max_abs", "mean_abs", "max_rel", "mean_rel"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-30)
    assert found.reference.largest == 0 and found.elements == got.numel()


def test_the_percentile_is_taken_over_thousands_of_elements():
    generator = np.random.default_rng(0)
    truth = generator.standard_normal(12_345)
    got = (truth + generator.standard_normal(12_345) * 1e-3).astype(np.float32)
    found = both(torch.from_numpy(got), torch.from_numpy(truth)).candidate
    assert found.p999 == pytest.approx(naive(got, truth)["p999"], rel=1e-9)
    assert found.mean < found.p999 < found.largest


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-2000, 2000))
def test_ulp_counts_the_floats_between(value, steps):
    ordered = int(np.float32(value).view(np.int32))
    ordered = ordered if ordered >= 0 else -(ordered & 0x7FFFFFFF)
    moved_to = ordered + steps
    if abs(moved_to) >= 0x7F800000:
        return
    bits = moved_to if moved_to >= 0 else -moved_to | 0x80000000
    other = np.array(bits, dtype=np.uint32).view(np.float32)
    found = both(torch.from_numpy(other.reshape(1).copy()), torch.tensor([np.float32(value)], dtype=torch.float64))
    assert found.max_ulp == abs(steps)


def test_ulp_is_only_given_for_float32():
    truth = torch.randn(8, dtype=torch.float64)
    assert both(truth.to(torch.bfloat16), truth).max_ulp is None
    assert both(truth.float(), truth).max_ulp == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_one_wrong_element_of_any_type_shows_in_full(dtype):
    truth = torch.randn(500, dtype=torch.float64)
    truth[7] = 4.0
    got = truth.to(dtype).clone()
    got[7] = 2.0
    assert both(got, truth).candidate.largest == pytest.approx(0.5)


def test_half_precision_results_are_compared_in_double_even_when_the_truth_is_not():
    """Where the reference does not run in float64 the truth is the reference's own result: bfloat16 must not round the difference away."""
    truth = torch.full((1000,), 1.0, dtype=torch.bfloat16)
    got = truth.clone()
    got[0] = 1.0078125
    found = both(got, truth)
    assert found.max_abs == 0.0078125 and found.mean_abs == pytest.approx(0.0078125 / 1000, rel=1e-6)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_one_nonfinite_element_is_counted_and_nothing_else_is_said(poison):
    truth = torch.randn(10, 10, dtype=torch.float64)
    got = truth.float()
    got[3, 4] = poison
    found = both(got, truth)
    assert found.nonfinite == 1 and found.candidate is None and not found.exact


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_are_counted_where_they_differ(dtype):
    truth = torch.tensor([0, 1, 1, 0, 1]).to(dtype)
    got = truth.clone()
    got[0], got[1] = True, False
    found = compare("out", got, truth, truth, truth, None, FLOOR)
    assert found.exact and found.unequal == 2 and found.repeat == 2


def test_large_integers_are_not_compared_as_floats():
    truth = torch.tensor([2**62])
    assert compare("out", truth + 1, None, truth, truth, None, FLOOR).unequal == 1


def test_complex_outputs_are_compared_by_real_and_imaginary_part():
    truth = torch.randn(64, dtype=torch.complex128)
    got = truth.to(torch.complex64)
    got[5] += 1j
    found = both(got, truth)
    parts = torch.view_as_real(truth)
    assert found.max_abs == pytest.approx(1, rel=1e-6) and found.scale == pytest.approx(rms(parts))
    assert both(got.conj(), truth.conj()).max_abs == pytest.approx(1, rel=1e-6)


def test_an_output_without_elements_has_no_errors():
    found = both(torch.empty(0, 4), torch.empty(0, 4, dtype=torch.float64))
    assert found.elements == 0 and found.candidate.largest == 0


def test_a_truth_of_zeros_is_compared_in_its_own_unit():
    found = both(torch.full((4,), 1e-3), torch.zeros(4, dtype=torch.float64))
    assert found.candidate.largest == pytest.approx(1e-3) and found.scale == 0 and found.cosine is None


def test_repeat_is_zero_only_for_the_same_bits():
    truth = torch.randn(100, dtype=torch.float64)
    got = truth.float()
    again = got.clone()
    assert both(got, truth, again).repeat == 0
    again[3] = torch.nextafter(again[3], torch.tensor(torch.inf))
    assert 0 < both(got, truth, again).repeat < 1e-6
    again[3] = math.nan
    assert both(got, truth, again).repeat > 1e6


def test_cosine_is_one_for_a_multiple_and_zero_for_an_orthogonal_result():
    truth = torch.tensor([1.0, 1.0], dtype=torch.float64)
    assert both(torch.tensor([3.0, 3.0]), truth).cosine == pytest.approx(1)
    assert both(torch.tensor([1.0, -1.0]), truth).cosine == pytest.approx(0)


def test_extreme_values_stay_finite_numbers():
    truth = torch.tensor([1e308, -1e308, 1e-308], dtype=torch.float64)
    found = both(-truth, truth)
    assert all(math.isfinite(v) for v in (found.candidate.largest, found.max_abs, found.max_rel, found.scale))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=3000))
@settings(max_examples=30, deadline=None)
def test_statistics_are_ordered(values):
    errors = torch.tensor(values, dtype=torch.float64)
    found = Units(torch.ones_like(errors)).statistics(errors)
    assert found.largest >= found.p999 and found.largest >= found.mean * (1 - 1e-12)
    assert found.largest == max(values) and found.typical <= min(1, found.mean * (1 + 1e-12))


def test_moved_is_in_the_unit_of_the_candidates_error():
    truth = torch.randn(1000, dtype=torch.float64)
    nudged = truth * (1 + 1e-4)
    assert moved(truth, nudged).model_dump() == pytest.approx(both(nudged, truth).candidate.model_dump())


def test_a_truth_that_a_nudge_makes_infinite_has_moved_as_far_as_can_be_said():
    truth = torch.ones(3, dtype=torch.float64)
    assert moved(truth, torch.tensor([1.0, math.inf, math.nan], dtype=torch.float64)).largest == 1e300


@given(st.integers(0, 2**31), st.sampled_from([1e-9, 1e-7, 1e-5, 1e-3]), st.sampled_from([1e-150, 1e-3, 1.0, 1e150]), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_limits_that_pass_are_limits_of_every_statistic(seed, error, unit, giants):
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randn(500, generator=generator, dtype=torch.float64) * unit
    truth[:giants] *= 1e6
    got = truth * (1 + error * torch.randn(500, generator=generator, dtype=torch.float64))
    limited = limit_errors("out", got, got.clone(), truth, 1e-4)
    full = compare("out", got, None, truth, None, None, 1e-4).candidate
    if limited is None:
        assert full.largest * max(1, rms(truth) / float(truth.abs().median())) > 0.99e-4
    else:
        for name in ("largest", "p999", "mean", "typical"):
            assert getattr(full, name) <= getattr(limited.candidate, name) * (1 + 1e-12) <= 1e-4 * (1 + 1e-12)
        both_ = compare("out", got, got, truth, None, None, 1e-4)
        assert (limited.repeat, limited.scale) == (0.0, both_.scale)
        assert (limited.max_abs, limited.mean_abs) == (both_.max_abs, both_.mean_abs)


@given(
    st.integers(0, 2**31), st.sampled_from([0.0, 1e-7, 1e-5, 1e-3]), st.sampled_from([1e-40, 1e-3, 1.0, 1e30]), st.integers(0, 3),
    st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_what_passes_at_a_glance_passes(seed, error, unit, giants, dtype):
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randn(500, generator=generator, dtype=torch.float64) * unit
    truth[:giants] *= 100
    got = (truth * (1 + error * torch.randn(500, generator=generator, dtype=torch.float64))).to(dtype)
    seen = glance("out", got, truth, 2e-5)
    if seen is not None:
        full = compare("out", got, None, truth, None, None, 2e-5).candidate
        for name in ("largest", "p999", "mean", "typical"):
            assert getattr(full, name) <= getattr(seen.candidate, name) <= 2e-5
    elif unit in (1e-3, 1.0) and error <= 1e-7 and not giants and dtype == torch.float32:
        raise AssertionError("an honest result of ordinary size passes")


def test_a_glance_passes_nothing_that_is_not_a_number_an_integer_or_empty():
    truth = torch.randn(70_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert glance("out", truth.float().reshape(7, -1), truth.reshape(7, -1), 2e-5) is not None
    for place, wrong in ((0, math.nan), (69_999, math.inf), (35_000, 1e3), (69_999, 7.0)):
        got = truth.float()
        got[place] = wrong
        assert glance("out", got, truth, 2e-5) is None
    assert glance("out", torch.zeros(0), torch.zeros(0, dtype=torch.float64), 2e-5) is None
    assert glance("out", torch.arange(6), torch.arange(6), 2e-5) is None and glance("out", truth, truth, 2e-5) is None


def test_pieces_of_a_large_output_are_one_output():
    generator = torch.Generator().manual_seed(1)
    truth = torch.randn(300, 400, generator=generator, dtype=torch.float64)
    got = truth.float()
    got[299, 399] += 1e-5  # in the last piece
    limited, full = limit_errors("out", got.t(), None, truth.t(), 1e-4), compare("out", got.t(), None, truth.t(), None, None, 1e-4)
    assert limited is not None and limited.max_abs == full.max_abs
    assert limited.candidate.largest == pytest.approx(full.candidate.largest, rel=1e-12)
    assert limited.mean_abs == pytest.approx(full.mean_abs)
    got[150, 7] = math.nan
    assert limit_errors("out", got, None, truth, 1e-4) is None


def test_limits_pass_nothing_that_is_not_a_number_or_wrong_and_full_figures_follow():
    truth = torch.ones(100, dtype=torch.float64)
    for wrong in (math.nan, math.inf, 1.1):
        got = truth.float()
        got[7] = wrong
        assert limit_errors("out", got, None, truth, 1e-4) is None
        found = compare("out", got, None, truth, None, None, 1e-4, figures=False)
        assert found.nonfinite == 1 if not math.isfinite(wrong) else found.candidate.largest == pytest.approx(0.1, rel=1e-6)


def test_at_first_sight_integers_must_be_equal_and_so_must_two_runs():
    truth = torch.arange(6)
    assert limit_errors("out", truth.clone(), truth.clone(), truth, 1e-4).unequal == 0
    assert limit_errors("out", truth + 1, None, truth, 1e-4) is None and limit_errors("out", truth, truth + 1, truth, 1e-4) is None
    wide = torch.ones(6, dtype=torch.float64)
    assert limit_errors("out", wide.float(), wide.float() * 1.0000002, wide, 1e-4) is None
    assert limit_errors("out", torch.zeros(0), None, torch.zeros(0, dtype=torch.float64), 1e-4) is None


@given(st.lists(st.floats(width=32), max_size=20))
def test_all_finite_says_what_isfinite_says(values):
    for dtype in (torch.float32, torch.float16, torch.float64, torch.float8_e5m2):
        tensor = torch.tensor(values, dtype=torch.float32).to(dtype)
        assert all_finite(tensor) == bool(torch.isfinite(tensor.float()).all())


@pytest.mark.parametrize("part", [0.05, 0.4])
def test_a_part_that_is_small_beside_the_rest_cannot_be_left_out(part):
    generator = torch.Generator().manual_seed(1)
    truth = torch.randn(4000, generator=generator, dtype=torch.float64)
    small = torch.arange(4000) < 4000 * part
    truth[small] *= 1e-9
    honest = truth.float()
    without = honest.masked_fill(small, 0.0)
    for result, passes in ((honest, True), (honest + 1e-11, True), (without, False)):
        found = compare("out", result, None, truth, truth.float(), moved(truth, truth * (1 + 1e-7)), FLOOR)
        assert (judge(found, FLOOR) is None) is passes
    assert limit_errors("out", without, None, truth, FLOOR) is None and glance("out", without, truth, FLOOR) is None


def test_dust_that_the_reference_does_not_have_right_accuses_nobody():
    truth = torch.cat([torch.ones(100), torch.full((99,), 1e-12)]).double()
    dust = torch.cat([torch.ones(100), torch.full((99,), 1e-8)])
    found = compare("out", dust, None, truth, dust * 2 - truth.float(), None, FLOOR)
    assert found.candidate.faint == 1 and judge(found, FLOOR) is None
