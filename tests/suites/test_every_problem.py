"""Every problem that ships: it runs at drawn sizes, means something, and its declared costs are what it costs."""

import ast
import copy
import inspect
import re
from typing import Any

import pytest
import torch

from popcorn.suites.problems import facts, find_problem, list_problems, statement
from popcorn.worker.reading import product_flops, weight_bytes
from tests.suites.tiny import ALL, SAMPLE, SHIPPED, loaded, tiny

sampled = pytest.mark.parametrize("problem_id", SAMPLE)
each = pytest.mark.parametrize("problem_id", ALL)


def leaves(outputs: object) -> list[torch.Tensor]:
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]  # type: ignore[list-item]


def built(problem_id: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[torch.nn.Module, list, dict[str, int]]:
    one, dims = loaded(problem_id), tiny(problem_id, seed)
    torch.manual_seed(seed)
    model, inputs = one.model(dims).to(dtype), one.inputs(dims)
    return model, [x.to(dtype) if torch.is_floating_point(x) else x for x in inputs], dims


@sampled
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_it_runs_at_drawn_sizes_and_stays_finite(problem_id: str, seed: int, dtype: torch.dtype) -> None:
    model, inputs, _ = built(problem_id, seed, dtype)
    for output in leaves(model(*inputs)):
        assert output.dtype in (dtype, torch.int64) and output.numel() > 0 and torch.isfinite(output).all()


@sampled
def test_it_agrees_with_float64_and_survives_bfloat16(problem_id: str) -> None:
    model, inputs, _ = built(problem_id)
    with torch.no_grad():
        truth = leaves(copy.deepcopy(model).double()(*[x.double() if x.is_floating_point() else x for x in inputs]))
        single = leaves(model(*inputs))
        try:
            half = leaves(copy.deepcopy(model).bfloat16()(*[x.bfloat16() if x.is_floating_point() else x for x in inputs]))
        except RuntimeError as error:  # torch has no such kernel for CPUs (average pooling of volumes); a GPU does
            assert "not implemented for 'BFloat16'" in str(error)
            half = [one.bfloat16() for one in single]
    floor = loaded(problem_id).tolerance.get("float32", 1e-4)
    for exact, near, rough in zip(truth, single, half, strict=True):
        if not exact.is_floating_point():
            assert (near != exact).double().mean() < 0.01
            continue
        scale = exact.square().mean().sqrt()
        assert (near - exact).abs().max() < max(1e-4, 10 * floor) * scale
        assert rough.dtype is torch.bfloat16
        # where the answer jumps (a choice, an acceptance), rounded inputs may jump
        assert not loaded(problem_id).differentiable or (rough - exact).abs().mean() < 0.05 * scale


@sampled
def test_the_same_seed_gives_the_same_model_inputs_and_outputs(problem_id: str) -> None:
    (first, x, dims), (second, y, again) = built(problem_id, 3), built(problem_id, 3)
    assert dims == again
    assert all(torch.equal(a, b) for a, b in zip(x, y, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(leaves(first(*x)), leaves(second(*y)), strict=True))


@sampled
def test_it_leaves_its_inputs_alone_and_runs_without_arguments_for_a_plain_runner(problem_id: str) -> None:
    model, inputs, _ = built(problem_id)
    before = [x.clone() for x in inputs]
    model(*inputs)
    assert all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))
    one = loaded(problem_id)
    module = inspect.getmodule(one.Model)
    assert module is not None
    for function in (module.get_inputs, module.get_init_inputs):
        assert all(parameter.default is not parameter.empty for parameter in inspect.signature(function).parameters.values())


@sampled
def test_gradients_reach_every_input_and_weight(problem_id: str) -> None:
    one = loaded(problem_id)
    assert one.differentiable is not None
    if not one.differentiable:
        return
    model, inputs, _ = built(problem_id, dtype=torch.float64)
    used = find_problem(problem_id).level != 4  # a library's model may hold weights that no output needs
    watched = [x.requires_grad_() for x in inputs if x.is_floating_point()] + list(model.parameters())
    outputs = [one for one in leaves(model(*inputs)) if one.is_floating_point()]
    torch.autograd.backward(outputs, [torch.randn_like(output) for output in outputs])
    assert watched
    for tensor in watched:
        if used or tensor.grad is not None:
            assert tensor.grad is not None and torch.isfinite(tensor.grad).all() and (tensor.grad.abs().max() > 0 or not used)


@sampled
def test_gradients_stay_finite_where_all_values_are_equal(problem_id: str) -> None:
    if not loaded(problem_id).differentiable:
        return
    model, inputs, _ = built(problem_id, dtype=torch.float64)
    floats = [torch.full_like(x, 0.5) if x.is_floating_point() else x for x in inputs]
    watched = [x.requires_grad_() for x in floats if x.is_floating_point()]
    if not watched:
        return
    sum(output.sum() for output in leaves(model(*floats)) if output.is_floating_point()).backward()
    assert all(x.grad is not None and torch.isfinite(x.grad).all() for x in watched)


@sampled
def test_zeros_a_constant_or_a_mean_along_a_dimension_do_not_pass(problem_id: str) -> None:
    model, inputs, _ = built(problem_id)
    for output in (one.double() for one in leaves(model(*inputs))):
        scale = output.square().mean().sqrt()
        guesses = [torch.zeros_like(output), output.mean().expand_as(output)]
        guesses += [output.mean(dim, keepdim=True).expand_as(output) for dim in range(output.dim()) if output.shape[dim] > 1]
        for guess in guesses:
            assert ((output - guess).abs() > 1e-3 * scale).double().mean() > 0.2


@sampled
def test_weights_and_inputs_matter(problem_id: str) -> None:
    one = loaded(problem_id)
    model, inputs, _ = built(problem_id)
    with torch.no_grad():
        truth = leaves(model(*inputs))

        def differs() -> bool:
            return any(
                (a.double() - b).abs().max() > 1e-4 * a.double().square().mean().sqrt()
                for a, b in zip(truth, leaves(model(*inputs)), strict=True)
            )

        for name, weight in model.named_parameters():
            before = weight.clone()
            weight.add_(torch.randn_like(weight) * (before.square().mean().sqrt() + 0.02))
            assert differs() or find_problem(problem_id).level == 4, name
            weight.copy_(before)
        for index, x in enumerate(inputs):
            if x.is_floating_point():
                inputs[index] = torch.randn_like(x)
                assert differs(), index
                inputs[index] = x
    assert one.Model is not None


@sampled
def test_declared_bytes_are_those_of_inputs_weights_and_outputs(problem_id: str) -> None:
    one, told = loaded(problem_id), facts(find_problem(problem_id))
    model, inputs, dims = built(problem_id)
    moved, integers = counted(model, inputs)
    declared = one.min_bytes(dims, 4)
    assert declared is not None and 0 < declared <= moved * 1.001
    assert told.bytes_why or declared >= 0.9 * moved
    # half as wide floats halve all but the integers; integers that the model holds may be read or not
    held = sum(one.numel() * one.element_size() for one in model.buffers() if not one.is_floating_point())
    half = one.min_bytes(dims, 2)
    assert told.bytes_why or 0.99 * (declared + integers) / 2 <= half <= 1.01 * (declared + integers + held) / 2


def counted(model: Any, inputs: list[Any]) -> tuple[int, int]:
    """Bytes of inputs, outputs and the weights that the outputs need; those of integers among inputs and outputs."""
    with torch.no_grad():
        outputs = leaves(model(*inputs))
        weights = weight_bytes(model, lambda: leaves(model(*inputs)))
    tensors = [*inputs, *outputs]
    whole = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return whole + weights, sum(one.numel() * one.element_size() for one in tensors if not one.is_floating_point())


@sampled
def test_declared_flops_are_those_that_a_counter_sees(problem_id: str) -> None:
    one, told = loaded(problem_id), facts(find_problem(problem_id))
    model, inputs, dims = built(problem_id)
    with torch.no_grad():
        declared, products = one.flops(dims), product_flops(lambda: model(*inputs))
    assert declared is not None and declared > 0
    if products and not told.flops_why:
        assert declared == pytest.approx(products, rel=0.1)


@each
def test_the_full_size_is_large_enough_to_be_measured_on_a_gpu(problem_id: str) -> None:
    one = loaded(problem_id, "full")
    dims = one.draw_dims(0, jitter=False)
    bytes_moved, flops = one.min_bytes(dims, 4), one.flops(dims)
    assert bytes_moved is not None and flops is not None
    # a GPU needs about 10 µs for this: 40 MB, or 40 GFLOP at whatever size
    assert bytes_moved >= 40e6 or flops >= 2e9
    assert one.draw_dims(7, jitter=True) == one.draw_dims(7, jitter=True)


@pytest.mark.parametrize("problem_id", SHIPPED)
def test_sizes_move_in_popcorn_and_stand_still_in_original(problem_id: str) -> None:
    problem = find_problem(problem_id)
    for name, dim in facts(problem).dims.items():
        assert dim.fixed or (problem.variant == "popcorn" and dim.low < dim < dim.high), name
        assert dim.low + dim.high != 2 * dim or dim.fixed or dim < 64, f"{name}: the middle of the range tells the size"


@pytest.mark.parametrize("problem_id", SHIPPED)
def test_the_statement_is_plain_python_without_costs_or_exact_sizes(problem_id: str) -> None:
    problem = find_problem(problem_id)
    for size in ("full", "cpu"):
        text = statement(problem, size)  # type: ignore[arg-type]
        assert text == statement(problem, size)  # type: ignore[arg-type]
        names = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
        assert {"get_inputs", "get_init_inputs"} <= names and not names & {"min_bytes", "flops"}
        assert "Dim" not in text and "_WHY" not in text.replace("TOLERANCE_WHY", "") and "popcorn.suites" not in text
        for name, dim in facts(problem).dims.items():
            at = dim.at(size)  # type: ignore[arg-type]
            if at.low == at.high:
                assert re.search(rf"^{name} = {int(at)}  # fixed$", text, re.MULTILINE)
                continue
            assert not re.search(rf"^{name} = .*\b{int(at)}\b", text, re.MULTILINE), name
            if at > 64:
                # another size's range may hold the number by chance; nothing else may
                rest = re.sub(r"^\w+ = \d+  # (fixed|changes between calls).*$", "", text, flags=re.MULTILINE)
                assert not re.search(rf"\b{int(at)}\b", rest), name


@sampled
def test_the_statement_runs_with_torch_alone(problem_id: str) -> None:
    namespace: dict[str, object] = {"__name__": "statement"}
    exec(compile(statement(find_problem(problem_id), "cpu"), problem_id, "exec"), namespace)
    torch.manual_seed(0)
    with torch.no_grad():
        model = namespace["Model"](*namespace["get_init_inputs"]())  # type: ignore[operator]
        assert all(torch.isfinite(one).all() for one in leaves(model(*namespace["get_inputs"]())))  # type: ignore[operator]


@each
def test_it_runs_once_at_the_size_for_machines_without_a_gpu(problem_id: str) -> None:
    one, told = loaded(problem_id), facts(find_problem(problem_id))
    dims = one.draw_dims(0, jitter=False)
    torch.manual_seed(0)
    model, inputs = one.model(dims), one.inputs(dims)
    with torch.no_grad():
        outputs = leaves(model(*inputs))
    assert all(torch.isfinite(output).all() for output in outputs)
    moved, _ = counted(model, inputs)
    declared = one.min_bytes(dims, 4)
    assert declared is not None and 0 < declared <= moved * 1.001 and (told.bytes_why or declared >= 0.9 * moved)
    assert one.flops(dims) and moved < 256e6, "sizes for machines without a GPU stay small"


@pytest.mark.parametrize("problem_id", SHIPPED)
def test_every_problem_says_where_it_comes_from(problem_id: str) -> None:
    told = facts(find_problem(problem_id))
    assert told.domain and told.summary and told.differentiable is not None
    assert problem_id in {one.id for one in list_problems()}
