/* Memory-bound now: four outputs a thread by 16-byte loads, all loads in flight before the first is used. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

template <int RANKS>
__global__ void logsumexp(const float4* x, float4* out, int64_t vectors) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    float4 kept[RANKS];
#pragma unroll
    for (int r = 0; r < RANKS; r++) kept[r] = __ldcs(x + r * vectors + i);
    float4 top = kept[0], sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int r = 1; r < RANKS; r++) {
        top.x = fmaxf(top.x, kept[r].x), top.y = fmaxf(top.y, kept[r].y), top.z = fmaxf(top.z, kept[r].z), top.w = fmaxf(top.w, kept[r].w);
    }
#pragma unroll
    for (int r = 0; r < RANKS; r++) {
        sum.x += __expf(kept[r].x - top.x), sum.y += __expf(kept[r].y - top.y), sum.z += __expf(kept[r].z - top.z), sum.w += __expf(kept[r].w - top.w);
    }
    __stcs(out + i, make_float4(top.x + logf(sum.x), top.y + logf(sum.y), top.z + logf(sum.z), top.w + logf(sum.w)));
}

template <int RANKS>
int launch(const popcorn_tensor& x, const popcorn_tensor& out, int64_t vectors, void* stream) {
    logsumexp<RANKS><<<(unsigned)((vectors + 255) / 256), 256, 0, (cudaStream_t)stream>>>((const float4*)x.data, (float4*)out.data, vectors);
    return (int)cudaGetLastError();
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t count = inputs[0].shape[1] * inputs[0].shape[2];
    if (count == 0) return 0;
    if (count % 4) return 2; /* the statement promises multiples of 8 */
    switch (inputs[0].shape[0]) {
        case 2: return launch<2>(inputs[0], outputs[0], count / 4, stream);
        case 3: return launch<3>(inputs[0], outputs[0], count / 4, stream);
        case 4: return launch<4>(inputs[0], outputs[0], count / 4, stream);
        case 5: return launch<5>(inputs[0], outputs[0], count / 4, stream);
        case 6: return launch<6>(inputs[0], outputs[0], count / 4, stream);
        case 7: return launch<7>(inputs[0], outputs[0], count / 4, stream);
        case 8: return launch<8>(inputs[0], outputs[0], count / 4, stream);
    }
    return 3;
}
