"""The example in docs/adding.md is a problem that keeps its own rules."""

import re
from pathlib import Path

import torch

from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem, statement

DOCS = Path(__file__).parents[2] / "docs" / "adding.md"


def test_the_example_of_a_problem_loads_and_runs(tmp_path: Path) -> None:
    found = re.search(r"<!-- example: a problem -->\n```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "1_squared_relu.py").write_text(found[1], encoding="utf-8")
    problem = find_problem(str(tmp_path / "1_squared_relu.py"))
    one = load(problem, "cpu")
    dims = one.draw_dims(4, True)
    model, (x,) = one.model(dims), one.inputs(dims)
    out = model(x)
    assert torch.allclose(out, model.scale * x.clamp_min(0) ** 2)
    assert one.min_bytes(dims, 4) == 4 * (x.numel() + out.numel() + model.scale.numel())
    assert "min_bytes" not in statement(problem) and "16384" not in statement(problem)
