"""The oracle in this process: what it allows a candidate because the reference does it too, and outputs of unusual types."""

from pathlib import Path

import pytest
import torch

from popcorn.suites.problems import find_problem
from popcorn.verify.judge import EARLIER
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import Buffer, pack
from popcorn.worker.oracle import Oracle
from popcorn.worker.truth import Question
from popcorn.worker.truths import WIDENED

TEXT = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.t(), (x * 3).to(torch.float8_e4m3fn)\n\n\n"
    "def get_inputs():\n    return [torch.randn(16, 8)]\n\n\ndef get_init_inputs():\n    return []\n"
)
QUESTION = {"dims": {}, "seed": 1, "init_seed": 2, "forward_seed": 3, "distribution": "normal", "layout": "contiguous"}


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    return opened(tmp_path, TEXT)


def opened(tmp_path: Path, text: str, precision: str = "float32") -> Oracle:
    path = tmp_path / "problem.py"
    path.write_text(text)
    for place in ("in", "out"):
        (tmp_path / place).mkdir()
    made = Oracle("cpu", tmp_path)
    made.do_open({"problem": find_problem(str(path)).model_dump(), "size": "cpu", "precision": precision, "gradient": False})
    return made


def test_where_the_reference_returns_a_view_of_its_input_a_candidate_may(oracle: Oracle) -> None:
    told = oracle.do_trial({"question": QUESTION, "truth": True})
    assert told["unfit"] is None and told["aliases"] == ["out[0]"]


@pytest.mark.parametrize(("factor", "unequal"), [(3.0, False), (3.3, True)])
def test_float8_outputs_are_equal_or_wrong(oracle: Oracle, factor: float, unequal: bool) -> None:
    oracle.do_trial({"question": QUESTION, "truth": True})
    x = dict(oracle.truths.current.truth)["out[0]"].t().float() if oracle.truths.current is not None else torch.empty(0)
    outbox = oracle.outbox
    assert isinstance(outbox, Buffer)
    outbox.reset()
    answer = pack((x.t(), (x * factor).to(torch.float8_e4m3fn)), outbox)
    judged = oracle.do_judge({"trees": [answer, answer], "floor": 2e-5})
    assert judged["structure"] is None and judged["outputs"][1]["exact"]
    assert (judged["outputs"][1]["unequal"] > 0) is unequal


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.n = getattr(self, 'n', 0) + 1\n        return x * self.n", "keeps something from call to call"),
        ("self.n = getattr(self, 'n', 1)\n        return x * self.n", None),
        ("return x + torch.rand_like(x)", "draws random numbers"),
    ],
)
def test_a_reference_whose_second_call_answers_otherwise_judges_nobody(tmp_path: Path, body: str, told: str | None) -> None:
    oracle = opened(tmp_path, TEXT.replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", body))
    if told is None:
        assert oracle.do_trial({"question": QUESTION, "truth": True})["unfit"] is None
    else:
        with pytest.raises(Failed, match=told):
            oracle.do_trial({"question": QUESTION, "truth": True})


@pytest.mark.parametrize(
    ("drawn", "weights", "told"),
    [
        ("torch.tensor([float(time.time_ns() % 1000003)])", "", "get_inputs gives other values at every call"),
        ("torch.randn(4)", "\n    def __init__(self):\n        super().__init__()\n        self.w = torch.nn.Parameter(torch.tensor([time.time_ns() % 1e6]))",
         "Model gives other values at every call"),
    ],
)  # fmt: skip
def test_a_problem_that_its_seed_does_not_repeat_judges_nobody(tmp_path: Path, drawn: str, weights: str, told: str) -> None:
    text = TEXT.replace("torch.randn(16, 8)", drawn).replace("(torch.nn.Module):", "(torch.nn.Module):" + weights)
    answer = "return x * getattr(self, 'w', 2)"
    oracle = opened(tmp_path, "import time\n" + text.replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", answer))
    with pytest.raises(Failed, match=told):
        oracle.do_trial({"question": QUESTION, "truth": True})


@pytest.mark.parametrize(("drawn", "passes"), [("torch.linspace(1, 2, 8)", True), ("torch.randn(8)", False)])
def test_where_the_answer_of_an_earlier_trial_would_pass_nothing_is_known_of_a_kernel(tmp_path: Path, drawn: str, passes: bool) -> None:
    oracle = opened(
        tmp_path, TEXT.replace("torch.randn(16, 8)", drawn).replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", "return x * 2")
    )
    blind: list[str] = [EARLIER]
    for seed in range(3):
        oracle.do_trial({"question": QUESTION | {"seed": seed}, "truth": True})
        assert oracle.truths.current is not None and oracle.outbox is not None
        oracle.outbox.reset()
        answer = pack(dict(oracle.truths.current.reference)["out"], oracle.outbox)
        blind = oracle.do_judge({"trees": [answer, answer], "floor": 2e-5, "blind": blind})["blind"]
        assert blind == [EARLIER] or seed
    assert (blind == [EARLIER]) is passes


def test_random_arguments_of_the_model_are_the_same_whenever_they_are_made(tmp_path: Path) -> None:
    text = TEXT.replace("return []", "return [torch.randn(3)]").replace(
        "(torch.nn.Module):", "(torch.nn.Module):\n    def __init__(self, w):\n        super().__init__()\n"
    )
    oracle = opened(tmp_path, text)
    question = Question(**QUESTION)
    first, _ = oracle._init_args(question)[0], torch.randn(5)
    assert torch.equal(oracle._init_args(question)[0], first)


def test_memory_that_nobody_filled_may_be_handed_over_where_nothing_depends_on_it(tmp_path: Path) -> None:
    text = "import time\n" + TEXT.replace("[torch.randn(16, 8)]", "[torch.randn(4), torch.tensor([time.time_ns()])]")
    oracle = opened(
        tmp_path,
        text.replace("forward(self, x)", "forward(self, x, out)").replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", "return x * 2"),
    )
    assert oracle.do_trial({"question": QUESTION, "truth": True})["unfit"] is None


@pytest.mark.parametrize("dtype", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint32", "uint64"])
def test_rare_types_are_handed_over_and_judged(tmp_path: Path, dtype: str) -> None:
    drawn = f"torch.randint(0, 9, (16,)).to(torch.{dtype})"
    oracle = opened(
        tmp_path, TEXT.replace("torch.randn(16, 8)", drawn).replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", "return x.clone()")
    )
    assert oracle.do_trial({"question": QUESTION, "truth": True})["unfit"] is None
    assert oracle.truths.current is not None and isinstance(oracle.outbox, Buffer)
    right = dict(oracle.truths.current.reference)["out"]
    for answer, unequal in ((right, 0), ((right.double() * 2 + 1).to(right.dtype), 1)):
        oracle.outbox.reset()
        tree = pack(answer, oracle.outbox)
        assert min(1, oracle.do_judge({"trees": [tree, tree], "floor": 2e-5})["outputs"][0]["unequal"]) == unequal


@pytest.mark.parametrize(
    "body",
    [
        "return x.to(torch.bfloat16) @ (x * 0.3).T.bfloat16()",  # runs in float64, and rounds there too
        "return x.to(dtype=torch.bfloat16) @ (x * torch.full((), 0.3, dtype=torch.float64)).T",  # does not run in float64
    ],
)
def test_what_a_reference_rounds_inside_is_not_rounded_in_the_truth(tmp_path: Path, body: str) -> None:
    """A kernel that rounds once, at the end, is nearer to it than the reference, and was held to the reference's own roundings."""
    oracle = opened(tmp_path, TEXT.replace("return x.t(), (x * 3).to(torch.float8_e4m3fn)", body), "bfloat16")
    told = oracle.do_trial({"question": QUESTION, "truth": True})
    assert told["truth_dtype"] == "float64" and told["truth_reason"] == WIDENED
    assert oracle.truths.current is not None
    x = oracle._make(Question(**QUESTION))[0][0].double()
    assert torch.allclose(dict(oracle.truths.current.truth)["out"], x @ (x * 0.3).T, rtol=1e-12)
    assert oracle.truths.current.condition is not None  # how far rounding moves it can be found out, too


@pytest.mark.parametrize(("distribution", "decides"), [("normal", True), ("large", False)])
def test_a_timed_result_decides_nothing_where_the_reference_itself_overflows(tmp_path: Path, distribution: str, decides: bool) -> None:
    """The truth of exp(100) is a number in float64 and none in float32."""
    made = opened(tmp_path, TEXT.replace("x.t(), (x * 3).to(torch.float8_e4m3fn)", "torch.exp(x)"))
    made.do_trial({"question": QUESTION, "truth": True})
    question = {**QUESTION, "distribution": distribution, "seed": 4}
    (inputs,) = made._inputs(Question(**question))
    assert torch.exp(inputs).isinf().any() != decides
    assert isinstance(made.outbox, Buffer)
    made.outbox.reset()
    made.do_hold({"questions": [question], "trees": [pack(torch.exp(inputs), made.outbox)]})
    (judged,) = made.do_judge_held({"at": [0], "floor": 2e-5, "conditioning": True})["judged"]
    assert ("NaN or infinity" not in (judged["unfit"] or "")) is decides and bool(judged["outputs"]) is decides
