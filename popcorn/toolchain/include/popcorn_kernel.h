/* The plain C interface of a native kernel (C, C++ or CUDA): no torch, no Python.
 *
 *   #include "popcorn_kernel.h"
 *   int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs,
 *                       const double* scalars, int n_scalars, void* stream) { ...; return 0; }
 *
 * inputs    the problem's inputs, then its parameters and buffers in state_dict order; not to be written
 * outputs   allocated by the caller with the reference's shapes and dtypes, contiguous, contents undefined
 * scalars   the numbers among get_init_inputs(), then those among get_inputs(), in order
 * stream    the current cudaStream_t for a .cu file, NULL on a CPU
 * returns   0 on success; anything else is a runtime error that shows the number
 *
 * popcorn_backward is optional: grads are allocated, contiguous, one for every floating-point input, then one for
 * every parameter (not buffers), in order; grad_outputs are contiguous, one for every floating-point output.
 */
#ifndef POPCORN_KERNEL_H
#define POPCORN_KERNEL_H

#include <stdint.h>

enum popcorn_dtype {
    POPCORN_UINT8 = 0,
    POPCORN_INT8 = 1,
    POPCORN_INT16 = 2,
    POPCORN_INT32 = 3,
    POPCORN_INT64 = 4,
    POPCORN_FLOAT16 = 5,
    POPCORN_FLOAT32 = 6,
    POPCORN_FLOAT64 = 7,
    POPCORN_BOOL = 11,
    POPCORN_BFLOAT16 = 15,
    POPCORN_FLOAT8_E5M2 = 23,
    POPCORN_FLOAT8_E4M3FN = 24,
    POPCORN_FLOAT8_E5M2FNUZ = 25,
    POPCORN_FLOAT8_E4M3FNUZ = 26,
    POPCORN_UINT16 = 27,
    POPCORN_UINT32 = 28,
    POPCORN_UINT64 = 29,
    POPCORN_FLOAT8_E8M0FNU = 44
};

typedef struct popcorn_tensor {
    void* data;            /* first element */
    int32_t dtype;         /* enum popcorn_dtype */
    int32_t ndim;
    const int64_t* shape;  /* ndim sizes */
    const int64_t* stride; /* ndim strides, in elements */
} popcorn_tensor;

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POPCORN_EXPORT __attribute__((visibility("default")))
#else
#define POPCORN_EXPORT
#endif

POPCORN_EXPORT int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs,
                                   const double* scalars, int n_scalars, void* stream);

POPCORN_EXPORT int popcorn_backward(const popcorn_tensor* inputs, int n_inputs, const popcorn_tensor* grad_outputs,
                                    int n_outputs, popcorn_tensor* grads, int n_grads, const double* scalars,
                                    int n_scalars, void* stream);

#ifdef __cplusplus
}
#endif

#endif
