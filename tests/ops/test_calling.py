"""Calls: traceable, differentiable, remembered by what shapes the choice, refused with a reason."""

import subprocess
import sys
import warnings

import pytest
import torch

from popcorn.errors import PopcornError
from popcorn.ops import add_rms_norm, cross_entropy, registry, rms_norm
from popcorn.ops.calls import Call, Rejected
from popcorn.ops.implementation import Implementation, hash_text, load
from popcorn.ops.packages import PACKAGES, missing
from popcorn.ops.registry import UnknownOp, find_op, list_ops
from popcorn.ops.signature import Mismatch
from tests.ops.choosing import FirstAccepting


@pytest.fixture(autouse=True)
def without_records():
    """The first implementation that accepts: `popcorn` on a CPU."""
    for op in (rms_norm, add_rms_norm, cross_entropy):
        op.chooser = FirstAccepting()
        op.forget()
    yield
    for op in (rms_norm, add_rms_norm, cross_entropy):
        op.chooser = None
        op.forget()


def test_inside_torch_compile_an_op_is_its_reference_without_a_break():
    x, weight = torch.randn(3, 8, requires_grad=True), torch.randn(8)
    compiled = torch.compile(lambda x, w: rms_norm(x * 2, w) + 1, fullgraph=True, backend="aot_eager")
    out = compiled(x, weight)
    torch.testing.assert_close(out, rms_norm["torch"](x * 2, weight) + 1)
    out.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("op", [rms_norm, add_rms_norm, cross_entropy])
def test_a_named_implementation_stays_itself_inside_torch_compile(op):
    sizes = {"R": 4, "D": 8, "V": 9}
    made = [t.requires_grad_(t.is_floating_point()) for t in op.make_inputs({d: sizes[d] for d in op.signature.dims})]
    mine = op["popcorn"]

    def total(run, *args):
        out = run(*args)
        return sum(one.square().sum() for one in (out if isinstance(out, tuple) else (out,)))

    compiled = torch.compile(lambda *args: total(mine, *args), fullgraph=True, backend="aot_eager")
    leaves = [t for t in made if t.requires_grad]
    got = torch.autograd.grad(compiled(*made), leaves)
    torch.testing.assert_close(got, torch.autograd.grad(total(op["torch"], *made), leaves))


def test_a_name_may_be_looked_up_inside_torch_compile():
    x, weight = torch.randn(3, 8), torch.randn(8)
    compiled = torch.compile(lambda x, w: rms_norm["popcorn"](x * 2, w), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, weight), rms_norm["torch"](x * 2, weight))


def test_a_choice_is_remembered_by_shape_dtype_layout_and_gradient():
    weight = torch.randn(8)
    for x in (torch.randn(4, 8), torch.randn(4, 8), torch.randn(8, 4).t(), torch.randn(5, 8), torch.randn(4, 8, requires_grad=True)):
        rms_norm(x, weight)
    assert len(rms_norm._plans) == 4
    with torch.no_grad():
        rms_norm(torch.randn(4, 8, requires_grad=True), weight)
    assert len(rms_norm._plans) == 5


def test_autocast_mixed_types_and_empty_tensors_go_to_the_reference():
    x, weight = torch.randn(4, 8), torch.randn(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert rms_norm.specialize(x, weight) is rms_norm.reference
    assert rms_norm.specialize(x.bfloat16(), weight) is rms_norm.reference
    assert rms_norm.specialize(x[:0], weight) is rms_norm.reference
    assert rms_norm(x[:0], weight).shape == (0, 8)
    assert rms_norm.specialize(x, weight) is rms_norm.implementations["popcorn"].run


def test_a_missing_package_is_a_refusal_with_the_command_that_brings_it():
    error = ModuleNotFoundError("No module named 'liger_kernel'", name="liger_kernel")
    assert missing(PACKAGES["liger"], error) == Rejected("for cuda only, and needs liger-kernel>=0.5,<1: pip install 'popcornbench[liger]'")
    one = rms_norm.implementations["liger"]
    assert isinstance(one, Implementation)
    answer = one.accepts(Call({"R": 1, "D": 8}, "float32", "cpu"))
    assert isinstance(answer, Rejected)
    if one.run is None:
        assert "pip install 'popcornbench[liger]'" in answer.reason
        with pytest.raises(UnknownOp, match="cannot run here: for cuda only, and needs liger-kernel"):
            rms_norm["liger"]


def test_unknown_names_are_told_with_what_there_is():
    with pytest.raises(UnknownOp, match=r"it has .*popcorn, .*torch"):
        rms_norm["nobody"]
    with pytest.raises(UnknownOp, match="rms_norm"):
        find_op("no_such_op")


def test_an_op_in_no_file_is_refused():
    scope: dict = {}
    exec("import torch\nfrom popcorn.ops import op\ndef act(x):\n    return x\n", scope)
    with pytest.raises(PopcornError, match="stands in no file"):
        scope["op"](x="... D", out="... D")(scope["act"])


def test_a_target_outside_the_vocabulary_is_an_error_and_a_left_out_row_is_not():
    logits = torch.randn(3, 7)
    with pytest.raises(RuntimeError, match="returned 3"):
        cross_entropy["popcorn"](logits, torch.tensor([0, 7, 1]))
    target = torch.tensor([0, -100, 6])
    torch.testing.assert_close(cross_entropy["popcorn"](logits, target), cross_entropy["torch"](logits, target))


def test_declarations_import_without_torch():
    code = "import sys; from popcorn.ops.registry import find_op, list_ops; [find_op(n) for n in list_ops()]; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False" and len(list_ops()) >= 11


def test_hashes_depend_on_text_and_not_on_line_ends():
    assert hash_text("a\n b ") == hash_text("a\r\n b\n\n")
    assert hash_text("a", "b") != hash_text("ab")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rms_norm(torch.randn(2, 4), torch.randn(4)).shape == (2, 4)


def test_an_array_of_numpy_is_refused_by_name():
    with pytest.raises(Mismatch, match=r"x is a numpy\.ndarray; expected a torch\.Tensor"):
        rms_norm(torch.randn(4, 8).numpy(), torch.randn(8))


def test_one_implementation_is_loaded_without_the_others(monkeypatch):
    loaded = []
    monkeypatch.setattr(registry, "load", lambda op, path, ours=True: (loaded.append(path.stem), load(op, path, ours))[1])
    rms_norm.reload()
    assert rms_norm.load_only("popcorn").run is not None and loaded == ["impl_popcorn"]
    assert rms_norm.load_only("popcorn").hash == rms_norm.implementations["popcorn"].hash and len(loaded) > 2
    rms_norm.reload()
    loaded.clear()
    assert rms_norm.load_only("inductor").language == "torch" and not loaded, "it needs no file"
    assert rms_norm.load_only("torch").run is rms_norm.reference and not loaded
    with pytest.raises(KeyError):
        rms_norm.load_only("no_such")
