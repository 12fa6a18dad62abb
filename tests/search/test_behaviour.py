"""Behaviour is read from the parse tree: what a text does, never what it says of itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.schema.measurement import Counters, KernelCounters
from popcorn.search.behaviour import counted, describe, reachable

PLAIN = """int popcorn_forward(const float* x, float* y, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    for (int i = 0; i < n; i++) y[i] = x[i] / s;
    return 0;
}
"""
CUDA = "__global__ void k(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i] * 2; }\n"


@pytest.mark.parametrize(
    "words",
    [
        "// fused single-pass flash tiled shared memory __shared__ float4\n",
        "/* #pragma omp parallel for simd */\n",
        'static const char* note = "__syncthreads(); wmma::mma_sync; #pragma omp simd";\n',
        "int smem_tile_fused_online = 0;\n",
    ],
)
def test_comments_strings_and_names_never_count(words):
    assert describe(words + PLAIN, "c") == describe(PLAIN, "c") == (0, 1, 0)
    assert describe(words + CUDA, "cuda") == describe(CUDA, "cuda")


@pytest.mark.parametrize(
    "text, language, cell",
    [
        (PLAIN.replace("    for (int i = 0; i < n; i++) y", "#pragma omp simd\n    for (int i = 0; i < n; i++) y"), "c", (1, 1, 1)),
        ("#pragma omp parallel for\n" + PLAIN, "c", (0, 1, 2)),
        ("#pragma omp parallel for simd reduction(+ : s)\n" + PLAIN, "c", (1, 2, 3)),
        ("#pragma omp parallel for // simd\n" + PLAIN, "c", (0, 1, 2)),
        (CUDA.replace("int i", "__shared__ float t[32]; __syncthreads(); int i"), "cuda", (3, 1, 1)),
        (CUDA.replace("y[i] =", "float v = __shfl_xor_sync(~0u, x[i], 1); y[i] = v +"), "cuda", (0, 2, 2)),
        (CUDA.replace("int i", "float4 v; __syncthreads(); int i").replace("x[i] *", "__shfl_down_sync(~0u, x[i], 1) *"), "cuda", (1, 2, 3)),
        (CUDA.replace("int i", "nvcuda::wmma::mma_sync(a, b, c, d); int i"), "cuda", (0, 3, 2)),
        ("void f(float* c) { float acc[4][4]; for (int l = 0; l < 9; l++) for (int i = 0; i < 4; i++) acc[i][0] += c[l]; }", "c", (0, 3, 0)),
        ("void f(float* c) { for (int a = 0; a < 99; a += 8) for (int i = 0; i < 9; i++) for (int j = a; j < a + 8; j++) c[j] = i; }", "c", (2, 1, 0)),
    ],
)  # fmt: skip
def test_what_a_kernel_does_gives_its_cell(text, language, cell):
    assert describe(text, language) == cell


TRITON = """import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))
"""


def test_triton_and_torch_modules_are_read_by_their_tree():
    assert describe(TRITON, "triton") == (1, 1, 0)
    assert describe(TRITON.replace("tl.load(x + i)", "tl.dot(tl.load(x + i), tl.load(x + i)) + tl.program_id(1)"), "triton") == (1, 3, 2)
    assert describe('"""tl.dot, torch.compile"""\nimport torch\n# torch.compile\ny = torch.relu(x)\n', "torch") == (0, 0, 0)
    assert describe("import torch\nf = torch.compile(g)\n", "torch") == (0, 3, 0)


@given(st.text(max_size=400), st.sampled_from(["c", "cuda", "cpp", "triton", "torch"]))
def test_any_text_has_a_cell_within_the_grid(text, language):
    assert all(0 <= level <= 3 for level in describe(text, language))


def test_the_shipped_kernels_of_every_language_lie_in_reachable_cells():
    assert describe(PLAIN, "c") in reachable("c") and describe(TRITON, "triton") in reachable("triton")


def test_counters_correct_what_a_text_seems_to_do_and_say_nothing_where_there_are_none():
    def seen(**facts):
        return Counters(kernels=(KernelCounters(name="k", **facts),))

    assert counted((3, 1, 0), Counters(reason="no ncu")) == (3, 1, 0)
    assert counted((3, 1, 0), seen()) == (3, 1, 0), "what was not counted decides nothing"
    assert counted((2, 1, 2), seen(shared_bytes_per_block=0, load_sectors_per_request=16.0)) == (1, 1, 2)
    assert counted((2, 1, 2), seen(shared_bytes_per_block=0, load_sectors_per_request=4.0)) == (0, 1, 2)
    assert counted((0, 1, 2), seen(shared_bytes_per_block=4096)) == (2, 1, 2)
    assert counted((3, 1, 2), seen(shared_bytes_per_block=4096)) == (3, 1, 2)
    assert counted((0, 1, 2), seen(flop_per_s={"tensor": 1e12}, stalls={"barrier": 0.2, "wait": 0.8})) == (0, 3, 3)


def test_a_record_s_counters_give_its_cell():
    from popcorn.search.judging import judged_of
    from tests.made_records import make_record

    record = make_record("correct", made="2025-11-29T10:00:00.000000+00:00", id="a" * 16)
    kernel = KernelCounters(name="k", shared_bytes_per_block=2048)
    told = record.model_copy(
        update={
            "measurement": record.measurement.model_copy(update={"counters": Counters(kernels=(kernel,))}),
            "subject": record.subject.model_copy(update={"source": PLAIN, "language": "c"}),
        }
    )
    assert judged_of(told).cell == counted(describe(PLAIN, "c"), Counters(kernels=(kernel,)))
    without = told.model_copy(update={"measurement": record.measurement.model_copy(update={"counters": Counters(reason="no ncu")})})
    assert judged_of(without).cell is None
