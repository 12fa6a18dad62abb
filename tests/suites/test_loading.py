"""Loading a file of our contract: sizes by name, one execution, reasons for what is unknown, sentences for what fails."""

import inspect
from pathlib import Path

import pytest
import torch

from popcorn.errors import BadProblem
from popcorn.suites.loading import load
from popcorn.suites.modules import reason_of
from popcorn.suites.problems import find_problem
from tests.suites.test_problems import OURS, write


def test_a_problem_is_loaded_from_its_fields_and_keeps_its_source_for_inspect() -> None:
    problem = find_problem("popcorn/L1/29")
    one = load(problem.model_dump(), "cpu")
    assert inspect.getsource(one.Model).startswith("class Model(nn.Module):")
    assert one.domain == "distributed" and one.differentiable is True and one.remarks == () and one.reasons == {}


def test_the_text_that_was_read_is_run_even_when_the_file_changes(tmp_path: Path) -> None:
    problem = find_problem(write(tmp_path, OURS))
    write(tmp_path, OURS.replace("x + 1", "x + 2"))
    one = load(problem)
    assert torch.equal(one.Model()(torch.zeros(3)), torch.ones(3))
    assert "x + 1" in inspect.getsource(one.Model)


def test_two_problems_of_the_same_name_do_not_share_a_namespace(tmp_path: Path) -> None:
    first = load(find_problem(write(tmp_path, OURS)))
    second = load(find_problem(write(tmp_path, OURS.replace("x + 1", "x + 2"))))
    assert torch.equal(first.Model()(torch.zeros(1)), torch.ones(1)) and torch.equal(second.Model()(torch.zeros(1)), 2 * torch.ones(1))


def test_inputs_take_sizes_by_name_and_obey_the_callers_generator_and_device(tmp_path: Path) -> None:
    one = load(find_problem(write(tmp_path, OURS)), "cpu")
    torch.manual_seed(5)
    (x,) = one.inputs({"N": 7})
    torch.manual_seed(5)
    assert x.shape == (7,) and torch.equal(x, one.inputs({"N": 7})[0])
    with torch.device("meta"):
        assert one.inputs({"N": 7})[0].device.type == "meta"


def test_what_a_file_does_not_declare_is_none_with_a_reason(tmp_path: Path) -> None:
    one = load(find_problem(write(tmp_path, OURS)))
    assert one.min_bytes({"N": 64}, 4) is None and one.flops({"N": 64}) is None and one.differentiable is None
    assert "declares no min_bytes" in one.reasons["min_bytes"] and "differentiable" in one.reasons


def test_the_gpu_and_the_cpu_size_are_two_plans_of_one_file(tmp_path: Path) -> None:
    problem = find_problem(write(tmp_path, OURS))
    assert load(problem).draw_dims(0, False) == {"N": 64} and load(problem, "cpu").draw_dims(0, False) == {"N": 16}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("return [torch.randn(N)]", "return [torch.randn(N) + undefined_thing]", r"`undefined_thing` is never defined"),
        ("return [torch.randn(N)]", "return torch.randn(N)", "get_inputs returned Tensor; let it return a list"),
        (
            "return [torch.randn(N)]",
            "return [torch.randn(N) * torch.cuda.current_device()]",
            r"get_inputs failed \(line 9\): it asks for a GPU",
        ),
        ("return [torch.randn(N)]", "return [torch.randn(-N)]", r"get_inputs failed \(line 9\): RuntimeError"),
        ("def get_inputs(N=N):", "def get_inputs(M, N=N):", "asks for `M`, which is no size"),
        ("from torch import nn", "from torch import nn\nimport no_such_module", r"import failed \(line 3\).*not installed"),
        ("class Model(nn.Module)", "class Model(object)", "extends torch.nn.Module"),
        (
            "from torch import nn",
            "from torch import nn\nimport sys; sys.exit(2)",
            r"import failed \(line 3\): it exits \(2\); put .* under `if __name__",
        ),
    ],
)
def test_a_failure_of_the_file_names_the_step_and_the_line(tmp_path: Path, old: str, new: str, reason: str) -> None:
    if "torch.cuda" in new and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(BadProblem, match=reason):
        one = load(find_problem(write(tmp_path, OURS.replace(old, new))))
        one.inputs(one.draw_dims(0, False))


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("inside", ["float32", "float16", "bfloat16"])
def test_the_advice_names_a_precision_that_was_not_chosen(precision: str, inside: str) -> None:
    if inside == precision:
        return
    a, b = (torch.ones(2, 2, dtype=getattr(torch, one)) for one in (inside, precision))
    with pytest.raises(RuntimeError) as failed:
        a @ b
    assert f"it insists on {inside} inside" in reason_of(failed.value, precision)
