"""Calls under torch.func, traces, fake tensors, on tensors that a kernel would misread, and gradients of gradients."""

import copy
import pickle

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from popcorn.bench import asking
from popcorn.ops import linear_cross_entropy, rms_norm, rotary_embedding, selective_log_softmax
from popcorn.ops.calls import ACCEPTED
from popcorn.ops.registry import find_op, list_ops
from popcorn.ops.signature import Mismatch
from tests.ops.choosing import FirstAccepting
from tests.ops.test_every_implementation import SIZES

OURS = [name for name in list_ops() if find_op(name).differentiable and "popcorn" in find_op(name).implementations]


@pytest.fixture(autouse=True)
def native_first():
    """Calls go to C++ wherever it accepts."""
    ops = (rms_norm, rotary_embedding, selective_log_softmax)
    for op in ops:
        op.chooser = FirstAccepting()
        op.forget()
    yield
    for op in ops:
        op.chooser = None
        op.forget()


@pytest.fixture
def given():
    torch.manual_seed(5)
    x, weight = torch.randn(4, 8), torch.randn(8)
    assert rms_norm.specialize(x, weight) is rms_norm.implementations["popcorn"].run
    rms_norm(x, weight)  # what it chose is remembered
    return x, weight


def test_tensors_without_memory_go_to_the_reference(given):
    x, weight = given
    assert rms_norm(x.to("meta"), weight.to("meta")).is_meta
    with pytest.raises(RuntimeError, match="meta"):
        rms_norm(x, weight.to("meta"))
    with FakeTensorMode() as mode:
        inside = rms_norm(torch.randn(4, 8), torch.randn(8))
        assert rms_norm["popcorn"](torch.randn(4, 8), torch.randn(8)).shape == (4, 8)
    fakes = mode.from_tensor(x), mode.from_tensor(weight)
    assert type(rms_norm(*fakes)) is type(inside)
    with pytest.warns(UserWarning, match="FakeTensor"), pytest.raises(Mismatch, match="has no memory"):
        rms_norm["popcorn"](*fakes)
    with pytest.raises(Mismatch, match=r"weight is torch\.float32 on meta"):
        rms_norm["popcorn"](x, weight.to("meta"))


def test_torch_func_and_forward_gradients_go_through_the_reference(given):
    x, weight = given
    direction = torch.randn_like(x)

    def by(op):
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(op(forward_ad.make_dual(x, direction), weight)).tangent
        return [
            torch.vmap(lambda row: op(row, weight))(x),
            torch.func.grad(lambda given: op(given, weight).square().sum())(x),
            torch.func.jvp(lambda given: op(given, weight), (x,), (direction,))[1],
            tangent,
        ]

    torch.testing.assert_close(by(rms_norm), by(rms_norm.reference))
    for call in (
        torch.func.grad(lambda given: rms_norm["popcorn"](given, weight).sum()),
        torch.vmap(lambda row: rms_norm["popcorn"](row, weight)),
    ):
        with pytest.raises(NotImplementedError, match=r"no rule for torch\.func"):
            call(x)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("name", [None, "popcorn"])
def test_a_trace_holds_the_op_and_not_its_result(given, name):
    x, weight = given
    op = rms_norm if name is None else rms_norm[name]

    def call(given):
        return op(given, weight)

    for traced in (make_fx(call)(x), torch.jit.trace(call, (x,))):
        torch.testing.assert_close(traced(3 + x * x), rms_norm.reference(3 + x * x, weight))


def test_a_subclass_stays_one_and_is_not_remembered(given):
    class Named(torch.Tensor):
        pass

    weight = given[1]
    before = len(rms_norm._plans)
    assert all(type(rms_norm(torch.randn(4, 8).as_subclass(Named), weight)) is Named for _ in range(3))
    assert len(rms_norm._plans) == before


@pytest.mark.parametrize("name", OURS)
def test_gradients_of_gradients_are_those_of_the_reference(name):
    op = find_op(name)
    torch.manual_seed(3)
    drawn = [t.double() if t.is_floating_point() else t for t in op.make_inputs({size: SIZES[size] for size in op.signature.dims})]

    def second(run):
        leaves = [t.clone().requires_grad_(t.is_floating_point()) for t in drawn]
        made = run(*leaves)
        outputs = [out for out in (made if isinstance(made, tuple) else (made,)) if out.is_floating_point()]
        wanted = [t for t in leaves if t.requires_grad]
        first = torch.autograd.grad(sum(out.square().sum() for out in outputs), wanted, create_graph=True)
        sum(one.square().sum() for one in first).backward()
        return [*first, *[t.grad for t in wanted]]

    if name == "softmax":  # it keeps its output, not its input
        with pytest.raises(RuntimeError, match="once_differentiable"):
            second(op["popcorn"])
    else:
        torch.testing.assert_close(second(op["popcorn"]), second(op.reference))


def test_a_tensor_given_twice_has_the_gradient_of_both_places_and_no_more():
    x = torch.randn(8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda given: rms_norm["popcorn"](given, given * 2 + 3), (x,))


def test_an_implementation_by_name_refuses_what_it_would_misread(given):
    x, weight = given
    for wrong, said in (
        ((x.bfloat16(), weight), "weight is torch.float32"),
        ((x, torch.randn(7)), r"weight has shape \(7,\); expected D = 8"),
        ((x, weight.long()), "weight is torch.int64"),
        ((x.to(torch.complex64), weight), "x is torch.complex64"),
    ):
        with pytest.raises(Mismatch, match=said):
            rms_norm["popcorn"](*wrong)
    torch.testing.assert_close(rms_norm(x, weight.long()), rms_norm.reference(x, weight.long()))


def test_indices_of_32_bits_are_taken():
    x, positions = torch.randn(2, 3, 5, 4), torch.arange(10, dtype=torch.int32).reshape(2, 5)
    torch.testing.assert_close(rotary_embedding(x, positions), rotary_embedding(x, positions.long()))
    with pytest.raises(Mismatch, match=r"positions is torch.int32 .* takes torch.int64"):
        rotary_embedding["popcorn"](x, positions)
    logits, index = torch.randn(4, 9), torch.tensor([0, 8, 3, 3], dtype=torch.int32)
    torch.testing.assert_close(selective_log_softmax(logits, index), selective_log_softmax(logits, index.long()))


def test_a_model_that_holds_an_op_is_copied_and_sent():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = rms_norm

    assert copy.deepcopy(Model()).norm is rms_norm
    assert pickle.loads(pickle.dumps(rms_norm)) is rms_norm


@pytest.mark.parametrize("name", ["chunked", "torch"])
def test_a_batch_without_a_row_that_counts_moves_nothing(name):
    x, weight = torch.randn(3, 8, requires_grad=True), torch.randn(9, 8, requires_grad=True)
    loss = linear_cross_entropy[name](x, weight, torch.full((3,), -100))
    loss.backward()
    assert loss.isnan() and not x.grad.any() and not weight.grad.any()


@pytest.mark.parametrize("name", ["cross_entropy", "int8_matmul", "moe_dispatch", "rotary_embedding", "rms_norm"])
def test_a_call_of_a_case_is_answered_as_the_call_of_its_tensors(name):
    op = find_op(name)
    made = op.call_of(*op.make_inputs(SIZES.get(name) or dict.fromkeys(op.signature.dims, 4)))
    asked = asking.call_of(made.case(), "cpu")
    accepts = op.implementations["popcorn"].accepts
    assert made.odd == {} and accepts(made) == accepts(asked) == ACCEPTED
