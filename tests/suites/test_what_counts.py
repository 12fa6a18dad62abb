"""In half precision, too, a kernel that leaves out what a problem is about is wrong."""

import pytest
import torch

from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem
from popcorn.verify.compare import compare
from popcorn.verify.judge import FLOORS, judge_values


@torch.no_grad()
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_mamba_language_model_without_its_recurrence_is_wrong(precision, monkeypatch) -> None:
    loaded = load(find_problem("popcorn/L4/19"), "cpu")
    torch.manual_seed(0)
    dims = loaded.draw_dims(0, False)
    model, (tokens,) = loaded.model(dims), loaded.inputs(dims)
    model.to(getattr(torch, precision))
    truth, reference = model.double()(tokens), model.to(getattr(torch, precision))(tokens)
    monkeypatch.setitem(model.forward.__globals__, "scan", lambda decay, h: h)
    without = model(tokens)

    floor = FLOORS[precision]
    assert judge_values(compare("out", reference, None, truth, None, None, floor=1.0), 1.0) is None
    assert judge_values(compare("out", without, None, truth, reference, None, floor), floor) is not None
