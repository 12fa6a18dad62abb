"""The rule of right and wrong, as a table, and on real tensors that are hard to judge."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.schema.comparison import Errors, OutputErrors
from popcorn.verify.compare import compare, moved
from popcorn.verify.inputs import DISTRIBUTIONS, Drawing, nudge
from popcorn.verify.judge import FLOORS, GRADIENT, ILL_CONDITIONED, bound, judge, judge_values, unfit, worst

FLOOR = FLOORS["float32"]
ZERO = Errors(largest=0, p999=0, mean=0)


def errors(candidate=ZERO, **more) -> OutputErrors:
    return OutputErrors(output="out", elements=1000, exact=False, candidate=candidate, **more)


def same(value: float) -> Errors:
    return Errors(largest=value, p999=value, mean=value)


def outcome(found: OutputErrors, floor: float = FLOOR) -> str:
    failure = judge(found, floor)
    return failure.outcome if failure else "pass"


TABLE = [
    ("nothing wrong", errors(), "pass"),
    ("at the floor", errors(same(FLOOR)), "pass"),
    ("just over the floor", errors(same(FLOOR * 1.001)), "wrong_values"),
    ("the reference loses half of it", errors(same(2e-4), reference=same(1e-4)), "pass"),
    ("the reference loses less than half of it", errors(same(2.01e-4), reference=same(1e-4)), "wrong_values"),
    ("rounding of the inputs loses half of it", errors(same(2e-4), reference=ZERO, sensitivity=same(1e-4)), "pass"),
    ("only the largest is too large", errors(Errors(largest=1e-3, p999=0, mean=0)), "wrong_values"),
    ("only the percentile is too large", errors(Errors(largest=1e-3, p999=1e-3, mean=0), reference=Errors(largest=1, p999=0, mean=0)), "wrong_values"),
    ("only the mean is too large", errors(Errors(largest=1e-3, p999=1e-3, mean=1e-3), reference=Errors(largest=1, p999=1, mean=0)), "wrong_values"),
    ("only the typical element is wrong", errors(Errors(largest=1e-6, p999=1e-6, mean=1e-6, typical=0.5)), "wrong_values"),
    ("the reference's typical element is as wrong", errors(Errors(largest=0, p999=0, mean=0, typical=0.5), reference=Errors(largest=0, p999=0, mean=0, typical=0.25)), "pass"),
    ("one NaN", OutputErrors(output="out", elements=9, exact=False, nonfinite=1), "nonfinite"),
    ("integers equal", OutputErrors(output="out", elements=9, exact=True, repeat=0), "pass"),
    ("one integer differs", OutputErrors(output="out", elements=9, exact=True, unequal=1), "wrong_values"),
    ("integers that rounding alone flips", OutputErrors(output="out", elements=100, exact=True, undecided=3, repeat=0), "pass"),
    ("integers differ between runs", OutputErrors(output="out", elements=9, exact=True, repeat=1), "not_deterministic"),
    ("two runs differ within the floor", errors(repeat=FLOOR), "pass"),
    ("two runs differ beyond the floor", errors(repeat=FLOOR * 1.01), "not_deterministic"),
    ("two runs differ as the reference's rounding does", errors(repeat=1e-4, reference=same(1e-4)), "pass"),
    ("wrong and not deterministic is wrong", errors(same(1.0), repeat=1.0), "wrong_values"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_rule(found, expected):
    assert outcome(found) == expected


@given(*[st.floats(0, 1) for _ in range(3)], st.sampled_from(["largest", "p999", "mean"]))
def test_a_larger_error_never_passes_where_a_smaller_one_fails(a, b, own, name):
    small, large = sorted((a, b))
    if outcome(errors(same(small), reference=same(own))) != "pass":
        assert outcome(errors(same(large), reference=same(own))) != "pass"
    assert bound(errors(reference=same(own)), name, FLOOR) == max(FLOOR, 2 * own)


@pytest.mark.parametrize("side", ["reference", "sensitivity"])
def test_an_ill_conditioned_output_decides_nothing(side):
    assert unfit(errors(**{side: same(ILL_CONDITIONED * 1.01)})) is not None
    assert unfit(errors(**{side: same(ILL_CONDITIONED * 0.99)})) is None


def test_figures_that_stand_side_by_side_are_of_one_trial_and_the_bound_of_the_one_that_came_nearest():
    trials = [
        errors(same(1e-6), max_abs=1.0, reference_max_abs=0.8, scale=1.0, cosine=0.9, max_ulp=3.0),
        errors(same(1e-5), max_abs=64.0, scale=8.0, cosine=1.0, max_ulp=9.0),  # a first look alone: the reference's error is not known
        OutputErrors(output="index", elements=4, exact=True),
    ]
    by_name = {row.output: row for row in worst(trials, FLOOR)}
    row = by_name["out"]
    assert (row.worst, row.bound) == (1e-5, FLOOR)
    assert (row.max_abs_error, row.reference_max_abs_error, row.scale, row.cosine, row.max_ulp) == (1.0, 0.8, 1.0, 0.9, 3.0)
    assert by_name["index"].max_abs_error == 0


# -- real tensors: a problem in float32 and its truth in float64, as the oracle does it


def judged(problem, got, *inputs: torch.Tensor, epsilon: float = 2.0**-23, floor: float = FLOOR) -> str:
    """The outcome of `got` (a function, or a tensor) against `problem`; `unfit` when the trial decides nothing."""
    wide = [t.double() for t in inputs]
    truth, reference = problem(*wide), problem(*inputs)
    generator = torch.Generator().manual_seed(5)
    sensitivity = moved(truth, problem(*nudge(wide, epsilon, generator)))
    result = got(*inputs) if callable(got) else got
    found = compare("out", result, None, truth, reference, sensitivity, floor)
    return "unfit" if unfit(found) else outcome(found, floor)


def draw(distribution: str, *shape: int, function=torch.randn, seed: int = 3) -> torch.Tensor:
    torch.manual_seed(seed)
    with Drawing(distribution):
        return function(*shape)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


@pytest.mark.parametrize("width", [128, 4096])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_zeros_never_pass_a_softmax(distribution, width):
    x = draw(distribution, 16, width)
    assert judged(softmax, torch.zeros(16, width), x) == "wrong_values"
    assert judged(softmax, torch.full((16, width), 1 / width), x) == "wrong_values"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_softmax_in_another_order_of_operations_passes(distribution):
    x = draw(distribution, 16, 4096)

    def online(x: torch.Tensor) -> torch.Tensor:
        parts = x.split(64, dim=-1)
        top = torch.stack([p.amax(-1) for p in parts]).amax(0).unsqueeze(-1)
        total = sum(torch.exp(p - top).sum(-1, keepdim=True) for p in reversed(parts))
        return torch.exp(x - top) * (1 / total)

    assert judged(softmax, online, x) == "pass"
    assert judged(softmax, lambda x: torch.exp(torch.log_softmax(x, -1)), x) == "pass"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_nan_never_passes(distribution):
    x = draw(distribution, 16, 256)
    assert judged(softmax, torch.full_like(x, math.nan), x) == "nonfinite"
    one = softmax(x)
    one[-1, -1] = math.nan
    assert judged(softmax, one, x) == "nonfinite"


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_products_pass_in_any_order_and_fail_with_a_row_left_out(precision):
    dtype = getattr(torch, precision)
    torch.manual_seed(0)
    a, b = torch.randn(64, 512).to(dtype), torch.randn(512, 64).to(dtype)
    settings = {"epsilon": torch.finfo(dtype).eps, "floor": FLOORS[precision]}

    def reversed_order(a, b):
        return (a.flip(1).float() @ b.flip(0).float()).to(dtype)

    def short(a, b):
        return (a[:, :-8].float() @ b[:-8].float()).to(dtype)

    assert judged(torch.matmul, reversed_order, a, b, **settings) == "pass"
    assert judged(torch.matmul, short, a, b, **settings) == "wrong_values"


@pytest.mark.parametrize("distribution", ["normal", "structured", "one_hot"])
def test_gradients_of_torchs_own_attention_pass_in_half_precision_and_without_their_correction_fail(distribution):
    torch.manual_seed(0)
    with Drawing(distribution):
        given = [torch.randn(1, 1, 512, 64).bfloat16() for _ in range(3)]
    slope = torch.randn(1, 1, 512, 64).bfloat16()

    def plain(q, k, v):
        later = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        return torch.softmax((q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(later, float("-inf")), -1) @ v

    def of_queries(run, tensors, slope):
        leaves = [t.detach().clone().requires_grad_() for t in tensors]
        return torch.autograd.grad(run(*leaves), leaves[:1], slope)[0]

    def without_the_sum_over_rows(run, tensors, slope):
        q, k, v = (t.float() for t in tensors)
        later = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        p = torch.softmax((q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(later, float("-inf")), -1)
        return (p * (slope.float() @ v.transpose(-1, -2)) @ k * q.shape[-1] ** -0.5).bfloat16()

    truth, reference = of_queries(plain, [t.double() for t in given], slope.double()), of_queries(plain, given, slope)
    right = of_queries(lambda *a: torch.nn.functional.scaled_dot_product_attention(*a, is_causal=True), given, slope)
    wrong = without_the_sum_over_rows(plain, given, slope)
    found = [compare(f"{GRADIENT}['input[0]']", got, None, truth, reference, None, FLOORS["bfloat16"]) for got in (right, wrong)]
    assert judge_values(found[0], FLOORS["bfloat16"]) is None
    assert judge_values(found[1], FLOORS["bfloat16"]).outcome == "wrong_values"


def test_a_result_that_a_forward_pass_calls_grad_is_no_gradient():
    named = errors(reference=same(0.1)).model_copy(update={"output": "out['grad']"})
    gradient = named.model_copy(update={"output": f"{GRADIENT}['input[0]']"})
    assert [bound(one, "mean", FLOORS["bfloat16"]) for one in (named, gradient)] == [0.2, 0.4]


def test_a_product_over_a_tenth_less_of_its_terms_fails_under_every_distribution():
    for distribution in DISTRIBUTIONS:
        a, b = draw(distribution, 64, 512), draw(distribution, 512, 64, seed=4)
        assert judged(torch.matmul, lambda a, b: a[:, :460] @ b[:460], a, b) in ("wrong_values", "unfit")
        assert judged(torch.matmul, lambda a, b: a.flip(1) @ b.flip(0), a, b) in ("pass", "unfit")


@pytest.mark.parametrize("elements", [64, 400, 4096, 1 << 20])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_one_giant_element_hides_no_error_in_the_others(elements, precision):
    """With one element a million times the rest, the others are far under any floor relative to the rms of all."""
    dtype = getattr(torch, precision)
    torch.manual_seed(1)
    x = torch.randn(elements).to(dtype)
    x[3] = 1e6

    def scaled(x):
        return x * 3

    wrong = scaled(x)
    wrong[4:] = 0
    half_wrong = scaled(x)
    half_wrong[elements // 2 :] *= 1.1
    settings = {"epsilon": torch.finfo(dtype).eps, "floor": FLOORS[precision]}
    assert judged(scaled, wrong, x, **settings) == "wrong_values"
    assert judged(scaled, half_wrong, x, **settings) == "wrong_values"
    assert judged(scaled, lambda x: x + x + x, x, **settings) == "pass"


def test_a_giant_row_whose_rounding_is_larger_than_all_other_rows_accuses_nobody():
    """Elements of the giant row that cancel to nearly nothing carry that row's rounding; another order of summation moves them freely."""
    for seed in range(10):
        torch.manual_seed(seed)
        a, b = torch.randn(256, 512), torch.randn(512, 128)
        a[17] *= 1e6
        assert judged(torch.matmul, lambda a, b: a.flip(1) @ b.flip(0), a, b) == "pass"
        chunks = lambda a, b: sum(x @ y for x, y in zip(a.split(8, 1), b.split(8, 0), strict=True))  # noqa: E731
        assert judged(torch.matmul, chunks, a, b) == "pass"
        assert judged(torch.matmul, lambda a, b: a.bfloat16().float() @ b, a, b) == "wrong_values"


def test_a_giant_input_that_every_output_sees_through_a_sum_accuses_nobody():
    torch.manual_seed(2)
    x = torch.randn(64, 1024)
    x[:, 100] = 1e6

    def normalised(x):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)

    def two_pass(x):
        mean = x.flip(-1).sum(-1, keepdim=True) / x.shape[-1]
        return (x - mean) * torch.rsqrt((x - mean).square().mean(-1, keepdim=True))

    assert judged(normalised, two_pass, x) == "pass"


def test_tails_that_underflow_accuse_nobody_and_are_still_judged_where_they_matter():
    torch.manual_seed(2)
    x = torch.randn(64, 1024) * 8
    silu = torch.nn.functional.silu
    assert judged(silu, lambda x: x * 0.5 * (1 + torch.tanh(x / 2)), x) == "pass"
    assert judged(silu, lambda x: x.clamp(min=0), x) == "wrong_values"
    flushed = softmax(x)
    flushed[flushed < 1e-38] = 0
    assert judged(softmax, flushed, x) == "pass"


def test_a_sparse_output_is_judged_by_what_is_not_zero():
    torch.manual_seed(2)
    x = torch.zeros(100_000)
    x[::1000] = torch.randn(100)
    assert judged(lambda x: x * 2, torch.zeros_like(x), x) == "wrong_values"
    assert judged(lambda x: x * 2, lambda x: x + x, x) == "pass"


def test_a_difference_of_nearly_equal_numbers_is_left_out():
    torch.manual_seed(2)
    x = torch.randn(4096)
    y = x * (1 + 1e-7 * torch.randn(4096))
    assert judged(lambda x, y: (x - y) / 1e-7, lambda x, y: (x - y) * 1e7, x, y) == "unfit"


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**31),
    st.sampled_from(DISTRIBUTIONS),
    st.integers(2, 600),
    st.sampled_from([torch.sum, torch.mean, torch.logsumexp, torch.cumsum, torch.softmax]),
)
def test_reductions_backwards_are_never_called_wrong(seed, distribution, width, reduce):
    x = draw(distribution, 8, width, seed=seed)

    def problem(x):
        return reduce(x, dim=-1)

    def backwards(x):
        if reduce in (torch.cumsum, torch.softmax):
            return torch.stack([reduce(row, dim=-1) for row in x]) if reduce is torch.softmax else _cumsum_in_halves(x)
        return reduce(x.flip(-1), dim=-1)

    assert judged(problem, backwards, x) in ("pass", "unfit")


def _cumsum_in_halves(x: torch.Tensor) -> torch.Tensor:
    left, right = x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]
    return torch.cat([left.cumsum(-1), right.cumsum(-1) + left.sum(-1, keepdim=True)], -1)


def test_an_argmax_that_rounding_decides_accuses_nobody_and_any_other_is_exact():
    torch.manual_seed(4)
    x = torch.randn(64, 100)
    x[5, 7] = x[5].max() + 1
    x[5, 70] = x[5, 7]
    truth = x.double().argmax(-1)
    reference = truth.clone()
    flips = torch.zeros(64, dtype=torch.bool)
    flips[5] = True
    other = truth.clone()
    other[5] = 70 if truth[5] == 7 else 7
    assert outcome(compare("out", other, other, truth, reference, None, FLOOR, flips)) == "pass"
    assert outcome(compare("out", other, other, truth, other, None, FLOOR)) == "pass", "the reference itself goes the other way"
    assert outcome(compare("out", other, other, truth, reference, None, FLOOR)) == "wrong_values"
    other[6] = (other[6] + 1) % 100
    assert outcome(compare("out", other, other, truth, reference, None, FLOOR, flips)) == "wrong_values"
    assert unfit(compare("out", truth, truth, truth, reference, None, FLOOR, torch.ones(64, dtype=torch.bool))) is not None


@pytest.mark.parametrize("unwritten", [3.3961513649220713e38, -102287.5546875, 3.3895313892515355e38, 2.9907629905160607e38])
def test_the_reason_names_the_element_that_is_furthest_off_and_memory_that_nobody_wrote(unwritten):
    truth = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    got = truth.float()
    got[2, 1] = unwritten
    failure = judge_values(compare("out", got, None, truth, truth.float(), None, FLOOR), FLOOR)
    assert failure is not None
    assert "at [2, 1] it is" in failure.reason and "instead of 0.636364" in failure.reason and "1 of 12 elements is off" in failure.reason
    assert "as if nothing had been written there" in failure.reason
    assert (
        failure.miss is not None
        and failure.miss.unwritten
        and failure.miss.off_share == 0.083
        and failure.miss.largest is not None
        and failure.miss.times_bound > 1e5
    )
    got[2, 1], got[0, 0] = 0.7, -2.0
    failure = judge_values(compare("out", got, None, truth, truth.float(), None, FLOOR), FLOOR)
    assert failure is not None and "at [0, 0] it is -2 instead of -1; 2 of 12 elements are off" in failure.reason
    assert failure.miss is not None and not failure.miss.unwritten


def test_half_precision_inside_a_float32_problem_is_off_by_a_little():
    truth = torch.randn(4096, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    failure = judge_values(compare("out", truth.bfloat16().float(), None, truth, truth.float(), None, FLOOR), FLOOR)
    assert failure is not None and failure.miss is not None
    assert (
        failure.miss.off_share > 0.9 and failure.miss.times_bound > 100 and failure.miss.largest is not None and failure.miss.largest < 0.01
    )
