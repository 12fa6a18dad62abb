"""Implementations by other people's packages, against stand-ins: arguments, their order, layouts, results, gradients, and what is refused."""

import contextlib
import importlib
import sys
import tomllib
import types
from pathlib import Path

import pytest
import torch

from popcorn.ops import implementation, packages
from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import Call, Rejected
from popcorn.ops.packages import PACKAGES, Package, missing, outside
from popcorn.ops.registry import LIBRARY, find_op
from tests.ops.standins import MODULES, Fa3

BORROWED = sorted(
    (path.parent.name, path.stem.removeprefix("impl_"))
    for path in LIBRARY.glob("*/impl_*.py")
    if path.stem.removeprefix("impl_") in {*PACKAGES, "cudnn"} - {"liger"}
)
SIZES = {"R": 6, "D": 64, "V": 64, "T": 5, "K": 16, "J": 32, "B": 2, "H": 4, "G": 2, "W": 4, "N": 9, "E": 4, "P": 5, "L": 3, "M": 7}
HOPPER = (9, 0)


@pytest.fixture
def load(monkeypatch):
    """An implementation's module with the stand-ins in the places of packages."""
    for name, held in MODULES.items():
        module = types.ModuleType(name)
        vars(module).update(held)
        monkeypatch.setitem(sys.modules, name, module)

    def loaded(op: str, name: str) -> types.ModuleType:
        path = f"popcorn.ops.library.{op}.impl_{name}"
        monkeypatch.delitem(sys.modules, path, raising=False)
        module = importlib.import_module(path)
        monkeypatch.setitem(sys.modules, path, module)
        if name == "cudnn":
            monkeypatch.setattr(module, "sdpa_kernel", lambda backend: contextlib.nullcontext())
        return module

    yield loaded
    for op, name in BORROWED:
        sys.modules.pop(f"popcorn.ops.library.{op}.impl_{name}", None)
    for op, name in BORROWED:
        if vars(sys.modules.get(f"popcorn.ops.library.{op}", types.ModuleType(""))).pop(f"impl_{name}", None):
            find_op(op).reload()


def drawn(op, layout: str) -> list[torch.Tensor]:
    torch.manual_seed(5)
    tensors = op.make_inputs({size: SIZES[size] for size in op.signature.dims})
    if layout == "transposed":
        return [t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 1 else t for t in tensors]
    if layout == "offset":
        return [torch.cat([t.new_zeros(3), t.reshape(-1)])[3:].view(t.shape) for t in tensors]
    return tensors


def outcome(run, tensors: list[torch.Tensor], scalars: dict, gradients: bool) -> list[torch.Tensor]:
    leaves = [t.detach().requires_grad_(gradients and t.is_floating_point()) for t in tensors]
    made = run(*leaves, **scalars)
    if not gradients:
        return [made]
    # a cotangent of stride 0, as a sum gives
    cotangent = torch.linspace(-1, 1, made.shape[-1] if made.dim() else 1).expand(made.shape) if made.dim() else torch.tensor(0.7)
    return [made.detach(), *torch.autograd.grad(made, [leaf for leaf in leaves if leaf.requires_grad], cotangent)]


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "offset"])
@pytest.mark.parametrize(("op_name", "name"), BORROWED)
def test_a_borrowed_implementation_is_the_reference_with_its_gradients(load, op_name, name, layout):
    op, module = find_op(op_name), load(op_name, name)
    tensors = drawn(op, layout)
    call = Call({size: SIZES[size] for size in op.signature.dims}, "bfloat16", "cuda", capability=HOPPER, gradient=True)
    gradients = op.differentiable and not (isinstance(answer := module.accepts(call), Rejected) and "backward" in answer.reason)
    for scalars in [{}, *({key: not value if isinstance(value, bool) else 0.3} for key, value in op.signature.scalars.items())]:
        got, wanted = (outcome(run, tensors, scalars, gradients) for run in (module.run, op.reference))
        assert got[0].is_contiguous()
        torch.testing.assert_close(got, wanted, atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize(("op_name", "name"), [pair for pair in BORROWED if "cross_entropy" in pair[0]])
def test_rows_left_out_do_not_count_and_none_left_is_nan_in_the_element_type_of_the_logits(load, op_name, name):
    op, module = find_op(op_name), load(op_name, name)
    *tensors, target = [t.bfloat16() if t.is_floating_point() else t for t in drawn(op, "contiguous")]
    target[::2] = -100
    got, wanted = module.run(*tensors, target), op.reference(*tensors, target)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got, wanted, atol=0.03, rtol=0.01)
    assert module.run(*tensors, torch.full_like(target, -100)).isnan()


@pytest.mark.parametrize(("op_name", "name"), BORROWED)
def test_what_a_borrowed_implementation_does_not_take_it_refuses(load, op_name, name):
    op, module = find_op(op_name), load(op_name, name)
    sizes = {size: SIZES[size] for size in op.signature.dims}

    def reason(dims=sizes, precision="bfloat16", device="cuda", **given) -> str:
        answer = module.accepts(Call(dims, precision, device, **{"capability": HOPPER, **given}))
        return answer.reason if isinstance(answer, Rejected) else ""

    if name == "cudnn":
        assert reason() in ("", "needs a torch with cuDNN 9")
    else:
        assert reason() == ""
    assert "runs on cuda only" in reason(device="cpu")
    assert "float64" in reason(precision="float64") and "mixed" in reason(precision="mixed")
    assert "autocast" in reason(autocast=True)
    assert "empty" in reason({**sizes, next(iter(sizes)): 0})
    if name in ("fa3", "quack", "cudnn"):
        assert "compute capability" in reason(capability=(7, 5))
    if name == "fa3":
        assert "this GPU has 10.0" in reason(capability=(10, 0))
    for size, step in getattr(module, "MULTIPLES", {}).items():
        assert f"{size} in multiples of {step}" in reason({**sizes, size: 8 * step + 1})
    if op_name in ("attn_decode", "layer_norm") and name in ("fa3", "quack"):
        assert "no backward pass" in reason(gradient=True)
    elif name != "cudnn":
        assert reason(gradient=True) == ""


def test_the_pairs_that_betas_answer_with_are_read_like_the_tensors_of_later_versions(load, monkeypatch):
    monkeypatch.setattr(Fa3, "tuples", True)
    op, module = find_op("attn"), load("attn", "fa3")
    tensors = drawn(op, "contiguous")
    torch.testing.assert_close(module.run(*tensors), op.reference(*tensors), atol=2e-5, rtol=2e-4)


def test_cudnn_is_asked_for_and_no_other_backend(load, monkeypatch):
    module, asked = load("attn", "cudnn"), []
    monkeypatch.setattr(module, "sdpa_kernel", lambda backend: asked.append(backend) or contextlib.nullcontext())
    module.run(*drawn(find_op("attn"), "contiguous"))
    assert asked == [torch.nn.attention.SDPBackend.CUDNN_ATTENTION]


def test_a_package_that_is_not_here_or_breaks_is_a_refusal_and_costs_its_own_implementation(monkeypatch):
    op = find_op("softmax")
    path = LIBRARY / "softmax" / "impl_quack.py"
    for error, words in (
        (
            ModuleNotFoundError("No module named 'quack'"),
            "for cuda only, and needs quack-kernels>=0.6,<0.7: pip install 'popcornbench[quack]'",
        ),
        (RuntimeError("no driver"), "quack-kernels does not import here (no driver)"),
    ):

        def fail(*given, error=error):
            raise error

        monkeypatch.setattr(implementation, "_import", fail)
        one = implementation.load(op.name, path)
        assert one.run is None
        assert one.accepts(Call({}, "float32", "cpu")).reason.startswith(words)


@pytest.mark.parametrize(("version", "fits"), [("0.6.0", True), ("0.6.5.post1", True), ("0.5.9", False), ("0.7.0", False), ("1.0", False)])
def test_a_version_outside_the_bounds_is_refused_and_named(monkeypatch, version, fits):
    monkeypatch.setattr(packages.importlib.metadata, "version", lambda name: version)
    answer = outside(PACKAGES["fla"])
    assert (answer is None) is fits
    if not fits:
        assert answer.reason == f"was written for fla-core>=0.6,<0.7; {version} is installed: pip install 'popcornbench[fla]'"


def test_a_beta_counts_as_the_version_it_leads_to(monkeypatch):
    monkeypatch.setattr(packages.importlib.metadata, "version", lambda name: "3.0.0b1")
    assert outside(PACKAGES["fa3"]) is None


def test_extras_and_packages_have_the_same_bounds():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, package in PACKAGES.items():
        if name != "fa3":  # not on PyPI
            assert [text.replace("[pytorch]", "") for text in project["optional-dependencies"][name]] == [package.name + package.bounds]


def test_an_import_error_is_told_in_its_own_words_when_the_package_is_here():
    answer = missing(Package("some", ">=1", "pip install some"), ImportError("libcudart.so.13: cannot open"))
    assert answer.reason == "some does not import here (libcudart.so.13: cannot open); try pip install some"


def test_memory_is_copied_only_where_it_must_be():
    made = torch.randn(4, 8)
    assert aligned(made) is made and aligned(made.t()).is_contiguous()
    late = torch.randn(35)[3:].view(4, 8)
    assert late.data_ptr() % 16 and aligned(late).data_ptr() % 16 == 0
    torch.testing.assert_close(aligned(late), late)
