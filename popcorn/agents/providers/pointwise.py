"""Kernels of problems that are one expression of each element of a matrix: the texts follow from the expression. Free of torch and Inspect."""

ROOT_HALF, ROOT_TWO_OVER_PI = "0.70710678118654752f", "0.79788456080286536f"

EXPRESSIONS = {
    "original/L1/19": ("relu", "x < 0.0f ? 0.0f : x"),
    "original/L1/20": ("leaky_relu", "x < 0.0f ? 0.01f * x : x"),
    "original/L1/21": ("sigmoid", "1.0f / (1.0f + expf(-x))"),
    "original/L1/22": ("tanh_of", "tanhf(x)"),
    "original/L1/25": ("swish", "x / (1.0f + expf(-x))"),
    "original/L1/26": ("gelu", f"0.5f * x * (1.0f + erff({ROOT_HALF} * x))"),
    "original/L1/27": ("selu", "1.0507009873554805f * (x < 0.0f ? 1.6732632423543772f * expm1f(x) : x)"),
    "original/L1/28": ("hard_sigmoid", "fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f"),
    "original/L1/29": ("softplus", "x > 20.0f ? x : log1pf(expf(x))"),
    "original/L1/30": ("softsign", "x / (1.0f + fabsf(x))"),
    "original/L1/31": ("elu", "x < 0.0f ? expm1f(x) : x"),
    "original/L1/32": ("hard_tanh", "fminf(fmaxf(x, -1.0f), 1.0f)"),
    "original/L1/88": ("gelu_tanh", f"0.5f * x * (1.0f + tanhf({ROOT_TWO_OVER_PI} * (x + 0.044715f * x * x * x)))"),
}
"""Problem → a name for its function, and its value at `x`, in C. One matrix of float32 comes in, one goes out."""

_C = """/* One pass, a piece of each row for every thread; the compiler makes vectors of it where it can. */
#include <math.h>

#include "popcorn_kernel.h"

static inline float NAME(float x) { return EXPRESSION; }

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1], step = inputs[0].stride[1];
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float* x = (const float*)inputs[0].data + i * inputs[0].stride[0];
        float* out = (float*)outputs[0].data + i * size;
        if (step == 1)
            for (int64_t j = 0; j < size; j++) out[j] = NAME(x[j]);
        else
            for (int64_t j = 0; j < size; j++) out[j] = NAME(x[j * step]);
    }
    return 0;
}
"""

_CUDA = """/* One thread an element: the memory is the limit, and neighbours read neighbours. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

__device__ inline float NAME(float x) { return EXPRESSION; }

__global__ void each(const float* x, float* out, int64_t rows, int64_t size, int64_t row_step, int64_t step) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < rows * size) out[i] = NAME(x[i / size * row_step + i % size * step]);
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    if (rows * size == 0) return 0;
    each<<<(unsigned)((rows * size + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (const float*)inputs[0].data, (float*)outputs[0].data, rows, size, inputs[0].stride[0], inputs[0].stride[1]);
    return (int)cudaGetLastError();
}
"""

_CUDA_FOUR = """/* No division for an index: a flat matrix in pieces of 16 bytes, two of them under way in every thread. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

__device__ inline float NAME(float x) { return EXPRESSION; }
__device__ inline float4 four(float4 x) { return make_float4(NAME(x.x), NAME(x.y), NAME(x.z), NAME(x.w)); }

__global__ void flat(const float4* x, float4* out, int64_t pieces) {
    const int64_t first = blockIdx.x * (int64_t)(2 * blockDim.x) + threadIdx.x, second = first + blockDim.x;
    float4 a, b;
    if (first < pieces) a = x[first];
    if (second < pieces) b = x[second];
    if (first < pieces) out[first] = four(a);
    if (second < pieces) out[second] = four(b);
}

__global__ void each(const float* x, float* out, int64_t rows, int64_t size, int64_t row_step, int64_t step, int64_t done) {
    const int64_t i = done + blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < rows * size) out[i] = NAME(x[i / size * row_step + i % size * step]);
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1], row_step = inputs[0].stride[0], step = inputs[0].stride[1];
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    int64_t done = 0;
    if (step == 1 && row_step == size && ((uintptr_t)x | (uintptr_t)out) % 16 == 0) {
        const int64_t pieces = rows * size / 4;
        if (pieces) flat<<<(unsigned)((pieces + 511) / 512), 256, 0, (cudaStream_t)stream>>>((const float4*)x, (float4*)out, pieces);
        done = 4 * pieces;
    }
    if (const int64_t rest = rows * size - done)
        each<<<(unsigned)((rest + 255) / 256), 256, 0, (cudaStream_t)stream>>>(x, out, rows, size, row_step, step, done);
    return (int)cudaGetLastError();
}
"""


def pointwise_kernels(problem: str, language: str) -> list[str]:
    """The texts for such a problem, the plain one first; none where it is another kind of problem or language."""
    if problem not in EXPRESSIONS:
        return []
    name, expression = EXPRESSIONS[problem]
    texts = {"c": [_C], "cpp": [_C], "cuda": [_CUDA, _CUDA_FOUR]}.get(language, [])
    return [text.replace("EXPRESSION", expression).replace("NAME", name) for text in texts]
