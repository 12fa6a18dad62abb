"""Slips of a declaration, each told in a sentence before anything runs; what belongs to a function's text."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from popcorn.ops import op
from popcorn.ops.calls import needs
from popcorn.ops.declaring import check_results
from popcorn.ops.registry import find_op, list_ops
from popcorn.ops.signature import BadOp
from popcorn.ops.texts import text_of

FACTOR = 3


def scaled(x, w):
    return x * w


def named(x, w):
    return {"out": x * w}


def shifted(x, w, eps=1e-6):
    return _through(x) + eps


def _through(x):
    return x * FACTOR


X, W = {"x": "... D", "w": "D"}, (torch.ones(2, 3, 4), torch.ones(4))


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: op(**X)(scaled), "out="),
        (lambda: op(scaled), "declares its arguments and out="),
        (lambda: op(x="... D", out="... D")(scaled), r"takes \(x, w\); declared is \(x\).*declare w, too"),
        (lambda: op(w="D", x="... D", out="... D")(scaled), "in this order"),
        (lambda: op(**X, eps=1e-5, out="... D")(shifted), "gives eps 1e-06 and the declaration 1e-05"),
        (lambda: op(**X, out="... K")(scaled), "the size K, which no input has; expected one of R, D"),
        (lambda: op(x=("...", "D"), w="D", out="... D")(scaled), "x is declared by a tuple"),
        (lambda: op(**X, out="... D", flop=lambda R, D: R)(scaled), "flop is no option of an op"),
        (lambda: op(**X, out="... D", flops=lambda N, D: N)(scaled), "flops=lambda R, D: "),
        (lambda: op(**X, out="... D", min_bytes=lambda R, D: R)(scaled), "min_bytes=lambda R, D, itemsize: "),
        (lambda: op(**X, out="... D", min_bytes=7)(scaled), "min_bytes is a int"),
        (lambda: op(**X, out="... D", name="softmax")(scaled), "there is an op softmax already"),
        (lambda: needs(devise="cuda"), r"needs\(devise=…\) is no condition"),
    ],
)
def test_a_slip_in_a_declaration_is_one_sentence(declare, text):
    with pytest.raises(BadOp, match=text):
        declare()


@pytest.fixture
def mine() -> Any:
    return op(**X, out="... D", name="scaled_here")(scaled)


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (lambda mine: mine.implementation("one")(lambda x: x), r"takes \(x\); declared is \(x, w\)"),
        (lambda mine: mine.implementation("torch")(scaled), "has an implementation 'torch' already"),
        (lambda mine: mine.implementation(scaled), "an implementation needs a name"),
        (lambda mine: mine.implementation("one", accepts=needs(K=(1, 8)))(scaled), "bounds K, which is no size; the sizes are R, D"),
    ],
)
def test_a_slip_in_an_implementation_is_one_sentence(mine, register, text):
    with pytest.raises(BadOp, match=text):
        register(mine)


@pytest.mark.parametrize(
    ("out", "options", "text"),
    [
        ("D", {}, r"declared as 'D', \(4,\) here, and the reference returns \(2, 3, 4\)"),
        (("... D", "..."), {}, "returns 1 tensors and declares 2"),
        ("... D < D", {}, "marks whole numbers and nothing else: write '... D'"),
        (
            "... D",
            {"min_bytes": lambda R, D, itemsize: 100 * R * D * itemsize},
            "min_bytes says 9.60 kB, and all inputs and outputs are 208 B",
        ),
    ],
)
def test_results_that_are_not_as_declared_are_refused_before_they_are_measured(out, options, text):
    wrong = op(**X, out=out, name="scaled_wrong", **options)(scaled)
    with pytest.raises(BadOp, match=text):
        wrong.benchmark(*W)


def test_a_result_that_is_no_tensor_is_said():
    with pytest.raises(BadOp, match="named_wrong returns a dict; expected a tensor"):
        op(**X, out="... D", name="named_wrong")(named).benchmark(*W)


def test_what_is_right_passes(mine):
    check_results(mine, W, {})


@pytest.mark.parametrize("name", list_ops())
def test_the_references_of_the_library_take_what_is_declared(name):
    assert callable(find_op(name).reference)


def test_a_text_holds_what_it_names_and_what_that_names_and_nothing_else():
    text = text_of(shifted)
    assert text.startswith("FACTOR = 3\n") and "def _through(x):" in text and text.endswith("eps\n")
    assert "scaled" not in text and text_of(scaled) == "def scaled(x, w):\n    return x * w\n"


def test_a_kernel_that_changed_is_another_implementation(tmp_path):
    from popcorn.ops.loading import run_for_definitions

    texts = []
    for version in (1, 2):
        file = tmp_path / f"mine_{version}.py"
        file.write_text(
            f"try:\n    import triton\n    KERNEL = 'version {version}'\nexcept ImportError:\n    KERNEL = 'version {version}'\n\n\ndef _launch(x):\n    return (KERNEL, x)\n\n\ndef run(x):\n    return _launch(x)\n",
            encoding="utf-8",
        )
        run: Callable[..., Any] = run_for_definitions(str(file))["run"]
        texts.append(text_of(run))
    assert "version 1" in texts[0] and "version 2" in texts[1]


@pytest.mark.parametrize(
    ("file", "old", "new", "text"),
    [
        ("reference.py", "def begun(", "def begun((", r"reference\.py, line \d+: .*; mend it, or remove"),
        ("reference.py", "def begun(", "def begin(", r"reference\.py defines no begun"),
        ("impl_popcorn.py", "def run(", "def ran(", r"impl_popcorn\.py defines no run"),
        ("impl_popcorn.py", "def run(x", "def run(y", r"begun\['popcorn'\] takes \(y, weight\); declared is \(x, weight\)"),
    ],
)
def test_a_slip_in_a_file_of_an_op_that_ships_is_one_sentence(tmp_path, monkeypatch, file, old, new, text):
    import popcorn.ops.library
    from popcorn.ops import registry
    from popcorn.ops.starting import start_op

    monkeypatch.setattr(registry, "LIBRARY", tmp_path)
    monkeypatch.setattr(popcorn.ops.library, "__path__", [*popcorn.ops.library.__path__, str(tmp_path)])
    for name in [one for one in sys.modules if one.startswith("popcorn.ops.library.begun")]:
        monkeypatch.delitem(sys.modules, name)
    start_op("begun", tmp_path)
    path = tmp_path / "begun" / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadOp, match=text):
        _ = find_op("begun").implementations
    for name in [one for one in sys.modules if one.startswith("popcorn.ops.library.begun")]:
        del sys.modules[name]


def test_the_bound_of_an_index_may_be_an_argument_and_is_no_size():
    """Of a segment sum: how many segments there are is told by a number and by no shape."""

    @op(x="R D", segment="R < segments", segments=8, out="segments D")
    def segment_sum(x, segment, segments=8):
        return x.new_zeros(segments, x.shape[1]).index_add_(0, segment, x)

    assert segment_sum.signature.dims == ("R", "D")
    x, segment = segment_sum.make_inputs({"R": 1000, "D": 4})
    assert int(segment.min()) >= 0 and int(segment.max()) == 7 and segment_sum["torch"](x, segment).shape == (8, 4)
