"""The oracle in this process: what it allows a candidate because the reference does it too, and outputs of unusual types."""

from pathlib import Path

import pytest
import torch

from popcorn.suites.problems import find_problem
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import Buffer, pack
from popcorn.worker.oracle import Oracle

TEXT = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.t(), (x * 3).to(torch.float8_e4m3fn)\n\n\n"
    "def get_inputs():\n    return [torch.randn(16, 8)]\n\n\ndef get_init_inputs():\n    return []\n"
)
QUESTION = {"dims": {}, "seed": 1, "init_seed": 2, "forward_seed": 3, "distribution": "normal", "layout": "contiguous"}


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    return opened(tmp_path, TEXT)


def opened(tmp_path: Path, text: str) -> Oracle:
    path = tmp_path / "problem.py"
    path.write_text(text)
    for place in ("in", "out"):
        (tmp_path / place).mkdir()
    made = Oracle("cpu", tmp_path)
    made.do_open({"problem": find_problem(str(path)).model_dump(), "size": "cpu", "precision": "float32", "gradient": False})
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
