"""The Triton implementations beyond what the shared test asks: long rows, rows left out, the same bits twice, torch.compile, threads."""

import re
from pathlib import Path

import pytest
import torch

from popcorn.ops.calls import Call, Rejected
from popcorn.ops.gpu_text import gpu_text
from popcorn.ops.registry import LIBRARY, find_op, list_ops
from tests.ops.test_every_implementation import SIZES, check, run

WITH_TRITON = [name for name in list_ops() if "triton" in find_op(name).implementations]
LONG = {"R": 3, "D": 40_000, "V": 40_000}


def on_the_gpu(name: str, sizes: dict[str, int]) -> list[torch.Tensor]:
    """Inputs that the implementation takes: in float32 where it may be, sizes rounded up to its multiples."""
    op, one = find_op(name), find_op(name).implementations["triton"]
    multiples = [one.multiples.get(d, 1) for d in op.signature.dims]
    made = [t.cuda() for t in op.make_inputs({d: -(-sizes[d] // m) * m for d, m in zip(op.signature.dims, multiples, strict=True)})]
    return made if one.accepts(op.call_of(*made)) else [t.bfloat16() if t.is_floating_point() else t for t in made]


@pytest.mark.parametrize("name", WITH_TRITON)
def test_a_call_on_a_cpu_is_refused_with_a_reason(name):
    answer = find_op(name).implementations["triton"].accepts(Call(dict.fromkeys(find_op(name).signature.dims, 8), "float32", "cpu"))
    assert isinstance(answer, Rejected) and ("cuda only" in answer.reason or "pip install triton" in answer.reason)


@pytest.mark.parametrize("name", WITH_TRITON)
def test_records_are_held_to_the_same_text_with_triton_and_without_it(name):
    one, file = find_op(name).implementations["triton"], LIBRARY / name / "impl_triton.py"
    assert one.source == gpu_text(file) and one.source.endswith(file.read_text())
    behind = modules_behind(file)
    assert "launching" in behind or "blocks" in behind, "nothing launches its kernels"
    assert [module for module in behind if (LIBRARY.parent / f"{module}.py").read_text() not in one.source] == []


def modules_behind(file: Path, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Modules of popcorn.ops that a file imports, and that these import; not those that only say whose a call is."""
    text = file.read_text()
    modules = re.findall(r"^from popcorn\.ops import (.+)$", text, re.MULTILINE) + re.findall(
        r"^from popcorn\.ops\.(\w+) import", text, re.MULTILINE
    )
    for module in re.findall(r"\w+", " ".join(modules)):
        if module not in (*seen, "gpu", "calls", "borrowed"):
            seen = modules_behind(LIBRARY.parent / f"{module}.py", (*seen, module))
    return seen


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["softmax", "logsumexp", "cross_entropy", "kl_div", "jsd", "selective_log_softmax"])
def test_rows_longer_than_registers_hold(name, dtype):
    check(name, "triton", "cuda", dtype, {**SIZES, **LONG}, "contiguous")


@pytest.mark.gpu
@pytest.mark.parametrize("width", [5, 1001, 5000, 50257])
def test_rows_left_out_count_nowhere_and_a_target_outside_is_nan(width):
    op = find_op("cross_entropy")
    logits = torch.randn(70, width, device="cuda", requires_grad=True)
    target = torch.randint(width, (70,), device="cuda")
    target[::3] = -100
    got, wanted = run(op["triton"], [logits, target]), run(op.reference, [logits, target])
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)
    target[1] = width
    assert op["triton"](logits, target).isnan()


@pytest.mark.gpu
def test_rows_left_out_count_nowhere_in_the_last_layer():
    op = find_op("linear_cross_entropy")
    x, weight = torch.randn(300, 64, device="cuda"), torch.randn(5000, 64, device="cuda") / 8
    target = torch.randint(5000, (300,), device="cuda")
    target[::3] = -100
    got, wanted = run(op["triton"], [x, weight, target]), run(op.reference, [x, weight, target])
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in WITH_TRITON if name != "linear_cross_entropy"])
def test_the_same_bits_twice(name):
    op = find_op(name)
    made = on_the_gpu(name, {**SIZES, "R": 1000, "D": 1024})
    first, second = (run(op["triton"], made, gradients=op.differentiable) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("name", WITH_TRITON)
def test_a_named_implementation_is_traced_whole_with_its_gradients(name):
    op = find_op(name)
    made = on_the_gpu(name, SIZES)
    mine = op["triton"]
    torch._dynamo.reset()
    compiled = torch.compile(lambda *args: mine(*args), fullgraph=True, backend="aot_eager")
    traced, plain = (run(one, made, gradients=op.differentiable) for one in (compiled, mine))
    torch.testing.assert_close(traced, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
def test_a_gpu_that_is_not_the_current_one_is_launched_on():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    op = find_op("rms_norm")
    x, weight = torch.randn(8, 64, device="cuda:1"), torch.randn(64, device="cuda:1")
    for _ in range(2):
        torch.testing.assert_close(op["triton"](x, weight), op.reference(x, weight))


@pytest.mark.gpu
def test_addresses_that_are_no_multiple_of_16_bytes_are_read_right_after_ones_that_are():
    op = find_op("swiglu")
    for start in (0, 1, 0, 4):
        gate, up = (torch.randn(64 * 256 + 8, device="cuda").bfloat16()[start : start + 64 * 256].view(64, 256) for _ in range(2))
        torch.testing.assert_close(op["triton"](gate, up), op.reference(gate, up), rtol=2e-2, atol=2e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [{"R": 130, "K": 136, "N": 264}, {"R": 1, "K": 64, "N": 8}, {"R": 4096, "K": 1024, "N": 1000}], ids=str)
@pytest.mark.parametrize("name", ["matmul", "addmm"])
def test_products_of_any_number_of_rows_lie_either_way_round(name, dims):
    for layout in ("contiguous", "transposed"):
        check(name, "triton", "cuda", torch.bfloat16, {**SIZES, **dims}, layout)


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [{"M": 300, "K": 136, "E": 3, "N": 264}, {"M": 1000, "K": 64, "E": 9, "N": 8}, {"M": 1, "E": 1}], ids=str)
def test_groups_of_any_size_are_multiplied(dims):
    for layout in ("contiguous", "transposed"):
        check("grouped_matmul", "triton", "cuda", torch.bfloat16, {**SIZES, **dims}, layout)


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dims", [(2, 4, 1, 129, 64), (1, 4, 4, 513, 128), (1, 2, 1, 1, 64), (1, 8, 2, 1024, 128)], ids=str)
def test_attention_of_any_length_with_heads_after_positions(dims, causal):
    batches, heads, sharing, times, wide = dims
    op = find_op("attn")
    torch.manual_seed(1)
    made = [torch.randn(batches, times, n, wide, device="cuda").bfloat16().transpose(1, 2) for n in (heads, sharing, sharing)]
    sides = [
        run(lambda *t, f=f: f(*t, causal=causal), given) for f, given in ((op["triton"], made), (op.reference, [t.double() for t in made]))
    ]
    for mine, true in zip(*sides, strict=True):
        assert (mine.double() - true).abs().max() <= 0.02 * true.abs().max() + 1e-6, "a single key has no gradient"


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("cuts", [[0, 300], [0, 0, 130, 131, 300, 300], [*range(0, 301, 20)]], ids=str)
def test_packed_sequences_see_themselves_alone(cuts, causal):
    op = find_op("attn_varlen")
    torch.manual_seed(1)
    made = [torch.randn(cuts[-1], n, 64, device="cuda").bfloat16() for n in (4, 2, 2)]
    edges = torch.tensor(cuts, device="cuda")
    sides = [
        run(lambda *t, f=f: f(*t, causal=causal), [*given, edges])
        for f, given in ((op["triton"], made), (op.reference, [t.double() for t in made]))
    ]
    for mine, true in zip(*sides, strict=True):
        assert (mine.double() - true).abs().max() <= 0.02 * true.abs().max()


@pytest.mark.gpu
@pytest.mark.parametrize("places", [7, 300, 4096, 20_000])
def test_groups_of_any_size_are_normed(places):
    check("group_norm", "triton", "cuda", torch.float32, {**SIZES, "C": 96, "S": places}, "contiguous")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("k", "experts"), [(1, 13), (3, 13), (8, 13), (2, 128), (6, 200)])
def test_experts_are_chosen_as_torch_sorts(k, experts, dtype):
    op = find_op("top_k_router")
    logits = torch.randn(50, experts, device="cuda").to(dtype)
    logits[0], logits[1, 3:], logits[2, 5], logits[3] = -torch.inf, -torch.inf, torch.nan, 1.0
    logits[4], logits[4, ::2], logits[5], logits[6] = 0.0, -0.0, -logits[5].abs(), logits[6] * 1e-7
    (weights, experts), (wanted, those) = op["triton"](logits, k=k), op.reference(logits, k=k)
    assert torch.equal(experts, those)
    torch.testing.assert_close(weights, wanted, equal_nan=True)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [13, 1024, 4096, 10_000])
def test_sums_of_exponentials_bear_what_is_infinite(width, dtype):
    op = find_op("logsumexp")
    x = torch.randn(9, width, device="cuda").to(dtype)
    x[0], x[1, 1:], x[2, 3], x[3, 5], x[4] = -torch.inf, -torch.inf, torch.inf, torch.nan, torch.finfo(dtype).min
    x[5], x[6] = x[5] * 1e4, 80.0
    torch.testing.assert_close(op["triton"](x), op.reference(x), equal_nan=True)


@pytest.mark.gpu
def test_what_lies_at_an_address_by_now_is_what_is_read():
    op, room = find_op("matmul"), torch.empty(1 << 16, device="cuda", dtype=torch.bfloat16)
    right = torch.randn(256, 128, device="cuda").bfloat16()
    for rows, k in ((64, 128), (32, 256), (64, 128), (16, 256)):
        left = room[: rows * k].view(rows, k).normal_()
        torch.testing.assert_close(op["triton"](left, right[:k]), left @ right[:k], rtol=2e-2, atol=2e-1)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in WITH_TRITON if find_op(name).differentiable])
def test_gradients_of_gradients_are_those_of_the_reference_or_refused(name):
    op = find_op(name)
    torch.manual_seed(3)
    made = on_the_gpu(name, SIZES)

    def second(called, given):
        leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in given]
        outputs = called(*leaves)
        outputs = [out for out in (outputs if isinstance(outputs, tuple) else (outputs,)) if out.is_floating_point()]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        first = torch.autograd.grad(sum(out.double().square().sum() for out in outputs), wanted, create_graph=True)
        return [*first, *torch.autograd.grad(sum(one.double().square().sum() for one in first), wanted, allow_unused=True)]

    truth = second(op.reference, [t.double() if t.is_floating_point() else t for t in made])
    try:
        got = second(op["triton"], made)
    except RuntimeError as error:
        assert "once_differentiable" in str(error)
        return
    for mine, true in zip(got, truth, strict=True):
        if true is not None:
            assert (mine.double() - true).norm() <= 0.03 * true.norm() + 1e-6
