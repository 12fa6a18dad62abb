"""Every implementation of every op against its reference in float64: forward and backward, odd sizes, every layout of every tensor."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from popcorn.ops.calls import Rejected
from popcorn.ops.packages import PACKAGES
from popcorn.ops.registry import REFERENCE, find_op, list_ops
from popcorn.verify.inputs import DISTRIBUTIONS, Drawing
from popcorn.verify.judge import FLOORS

SIZES = {
    "R": 6, "D": 33, "T": 5, "K": 6, "V": 101, "M": 7, "N": 9, "A": 2, "B": 2, "C": 64, "E": 4, "G": 2, "H": 4, "J": 5, "L": 3, "P": 5, "S": 7, "W": 4,
}  # fmt: skip
"""Small and odd; K is a head's width, which is even, G divides the H heads, and the C channels are a multiple of the groups."""

SIZES |= {size: 6 for op in list_ops() for size in find_op(op).signature.dims if size not in SIZES}

PAIRS = [(op, name) for op in list_ops() for name in find_op(op).implementations if name not in (REFERENCE, "inductor")]
"""Inductor is torch.compile of the reference; the worker's trials judge it where it is measured."""

ATTENTION = ("attn", "attn_varlen")
"""Gradients of kernels that never write the scores come from the rounded output, so in half precision they carry its error beside their own."""

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def transposed(t: torch.Tensor) -> torch.Tensor:
    return t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 1 else sliced(t)


def sliced(t: torch.Tensor) -> torch.Tensor:
    wide = torch.zeros((*t.shape[:-1], 2 * t.shape[-1]), dtype=t.dtype, device=t.device)
    wide[..., ::2] = t
    return wide[..., ::2]


def expanded(t: torch.Tensor) -> torch.Tensor:
    return t[:1].expand(t.shape) if t.dim() > 1 else t


def offset(t: torch.Tensor) -> torch.Tensor:
    room = torch.zeros(t.numel() + 3, dtype=t.dtype, device=t.device)
    room[3:] = t.reshape(-1)
    return room[3:].view(t.shape)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda t: t, "transposed": transposed, "sliced": sliced, "stride 0": expanded, "offset": offset,
}  # fmt: skip


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal to the last bit, signs of zeros and nans too."""
    # a single element can be contiguous and have any stride: a copy has 1
    return torch.equal(*(t.reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8) for t in (a, b)))


def run(function: Callable[..., Any], tensors: list[torch.Tensor], stride_0: bool = False, gradients: bool = True) -> list[torch.Tensor]:
    """Outputs, and gradients of every floating tensor where the op has them. Neither pass may change a bit of what it is given."""
    before = [t.detach().clone() for t in tensors]
    leaves = [t.detach().requires_grad_(gradients and t.is_floating_point()) for t in tensors]
    made = function(*leaves)
    every = list(made) if isinstance(made, tuple) else [made]
    outputs = [out for out in every if out.is_floating_point()]
    generator = torch.Generator().manual_seed(7)
    cotangents = []
    for out in outputs:
        # drawn in float64, so that the truth and the implementation get the same ones but for rounding
        drawn = torch.randn(out.shape[-1:] if stride_0 else out.shape, generator=generator, dtype=torch.float64)
        cotangents.append(drawn.bfloat16().to(out.device, out.dtype).expand(out.shape))
    wanted, slopes = [leaf for leaf in leaves if leaf.requires_grad], [one.clone() for one in cotangents]
    made = [*(out.detach() for out in every), *(torch.autograd.grad(outputs, wanted, cotangents) if gradients else ())]
    for what, were, are in (("input", before, tensors), ("cotangent", slopes, cotangents)):
        for index, (was, now) in enumerate(zip(were, are, strict=True)):
            assert same_bits(was, now), f"{what} {index} was changed"
    return made


def check(op_name: str, name: str, device: str, dtype: torch.dtype, sizes: dict[str, int], layout: str, stride_0: bool = False) -> None:
    op = find_op(op_name)
    torch.manual_seed(3)
    multiples = op.implementations[name].multiples
    drawn = op.make_inputs({size: -(-sizes[size] // multiples.get(size, 1)) * multiples.get(size, 1) for size in op.signature.dims})
    made = [LAYOUTS[layout]((t.to(dtype) if t.is_floating_point() else t).to(device)) for t in drawn]
    grad = op.differentiable
    answer = op.implementations[name].accepts(op.call_of(*[t.requires_grad_(grad and t.is_floating_point()) for t in made]))
    if isinstance(answer, Rejected):
        if dtype == torch.float32 and "float32" in answer.reason and device == "cuda":  # in half precision, then
            return check(op_name, name, device, torch.bfloat16, sizes, layout, stride_0)
        pytest.skip(f"{op_name}[{name}] {answer.reason}")
    got = run(op[name], made, stride_0, grad)
    reference = run(op.reference, made, stride_0, grad)
    truth = run(op.reference, [t.double() if t.is_floating_point() else t for t in made], stride_0, grad)
    floor = FLOORS[str(dtype).removeprefix("torch.")]
    for index, (mine, theirs, true) in enumerate(zip(got, reference, truth, strict=True)):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        # what the backward of torch or of another package makes may lie otherwise
        theirs_to_lay = op.implementations[name].language == "torch" or name in (*PACKAGES, "cudnn")
        assert mine.is_contiguous() or (theirs_to_lay and index >= len(op.signature.outputs))
        if not true.is_floating_point():
            assert torch.equal(mine, true), f"output {index}"
            continue
        scale = true.square().mean().sqrt().item() or 1.0
        error, own = (mine.double() - true).abs().max().item(), (theirs.double() - true).abs().max().item()
        allowed = (3 if op_name in ATTENTION else 2) * own
        if true.abs().max().item() < own:  # terms that cancel to nothing leave their roundings, and which are larger is the processor's
            allowed = 10 * own
        assert error <= max(allowed, floor * max(scale, true.abs().max().item())), f"output {index}"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_right_in_every_layout(op, name, layout, device):
    check(op, name, device, torch.float32, SIZES, layout)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_right_in_every_element_type(op, name, dtype, device):
    check(op, name, device, dtype, SIZES, "contiguous")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [{"R": 1}, {"D": 1, "V": 1}, {"T": 1}, {"K": 2}, {"R": 65, "D": 1027, "V": 1027, "T": 65}], ids=str)
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_right_for_odd_sizes_and_sizes_of_one(op, name, sizes, device):
    check(op, name, device, torch.float32, {**SIZES, **sizes}, "contiguous")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_right_with_a_cotangent_of_stride_0(op, name, device):
    check(op, name, device, torch.float32, SIZES, "contiguous", stride_0=True)


@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_several_threads_give_what_one_gives(op, name):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        check(op, name, "cpu", torch.float32, {**SIZES, "R": 67, "D": 1024, "V": 1024, "T": 67}, "contiguous")
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("op", list_ops())
def test_the_defaults_of_the_signature_are_those_of_the_reference(op):
    import inspect

    found = find_op(op)
    parameters = inspect.signature(found.reference).parameters
    assert list(parameters) == list(found.signature.names)
    assert {name: parameters[name].default for name in found.signature.scalars} == found.signature.scalars
    for name, one in found.implementations.items():
        if one.run is not None and name not in ("inductor", REFERENCE):
            mine = inspect.signature(one.run).parameters
            assert {n: p.default for n, p in mine.items()} == {n: p.default for n, p in parameters.items()}


@pytest.mark.parametrize("op", list_ops())
def test_outputs_have_the_declared_shapes(op):
    found = find_op(op)
    made = found.reference(*found.make_inputs({size: SIZES[size] for size in found.signature.dims}))
    outputs = made if isinstance(made, tuple) else (made,)
    sizes = {**SIZES, **{name: value for name, value in found.signature.scalars.items() if type(value) is int}}
    assert [tuple(out.shape) for out in outputs] == [spec.shape(sizes) for spec in found.signature.outputs]
    assert [out.is_floating_point() for out in outputs] == [spec.below is None for spec in found.signature.outputs]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("op", list_ops())
def test_a_reference_works_in_every_element_type_and_layout_with_finite_gradients(op, dtype):
    found = find_op(op)
    torch.manual_seed(3)
    drawn = [t.to(dtype) if t.is_floating_point() else t for t in found.make_inputs({size: SIZES[size] for size in found.signature.dims})]
    plain = run(found.reference, drawn, gradients=found.differentiable)
    truth = run(found.reference, [t.double() if t.is_floating_point() else t for t in drawn], gradients=found.differentiable)
    for mine, true in zip(plain, truth, strict=True):
        assert torch.isfinite(mine).all() and torch.isfinite(true).all()
        if true.is_floating_point():
            assert mine.dtype == dtype
            allowed = {torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.02}[dtype] * max(1.0, true.abs().max().item())
            assert (mine.double() - true).abs().max() <= allowed
    for layout in (transposed, sliced, offset):
        moved = run(found.reference, [layout(t) for t in drawn], gradients=found.differentiable)
        for mine, other in zip(plain, moved, strict=True):
            assert (mine.double() - other.double()).abs().max() <= 0.1 * max(1.0, mine.double().abs().max().item())


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("op", list_ops())
def test_inputs_of_every_kind_that_trials_draw_are_valid(op, distribution):
    found = find_op(op)
    torch.manual_seed(3)
    with Drawing(distribution):
        drawn = found.make_inputs({size: SIZES[size] for size in found.signature.dims})
    truth = run(found.reference, [t.double() if t.is_floating_point() else t for t in drawn], gradients=found.differentiable)
    for name, one in found.implementations.items():
        if name == "inductor" or not one.accepts(found.call_of(*drawn)):
            continue
        for index, (mine, true) in enumerate(zip(run(one.run, drawn, gradients=found.differentiable), truth, strict=True)):
            assert torch.isfinite(mine).all() and torch.isfinite(true).all()
            error = (mine.double() - true.double()).abs().max().item()
            assert error <= 1e-3 * max(1.0, true.double().abs().max().item()), f"{name}, output {index}"


@pytest.mark.parametrize("op", list_ops())
def test_costs_are_formulas_of_the_sizes_that_the_plan_has(op):
    found = find_op(op)
    assert found.plan is not None and tuple(found.plan.pools) == found.signature.dims
    sizes = {size: SIZES[size] for size in found.signature.dims}
    larger = {size: 2 * value for size, value in sizes.items()}
    assert 0 < found.min_bytes(sizes, 2) < found.min_bytes(sizes, 4) < found.min_bytes(larger, 4) <= found.resident_bytes(larger, 4)
    if found.flops(sizes) is not None:
        assert 0 < found.flops(sizes) < found.flops(larger)
    for curve in found.plan.curves:
        assert {curve.axis, *curve.fixed} == set(found.signature.dims)
