/* A native kernel that enters the interpreter around it and makes its timer report a twentieth.
 * PROBLEM = "softmax"
 * CATALOGUE = (6, 8)
 * OUTCOMES = {"cheated", "wrong_values"}
 * TIMED = True
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>

#include "popcorn_kernel.h"

static void patch(void) {
    static int done = 0;
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    if (done || !ensure || !release || !run) return;
    done = 1;
    int state = ensure();
    run("from popcorn.measure import timing\n"
        "time_windows = timing.CpuTimer.time\n"
        "timing.CpuTimer.time = lambda *a: [s / 20 for s in time_windows(*a)]\n");
    release(state);
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    patch();
    const popcorn_tensor* in = &inputs[0];
    const float* x = in->data;
    float* out = outputs[0].data;
    const int64_t rows = in->shape[0], size = in->shape[1], step = in->stride[1];
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * in->stride[0];
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < size; j++) largest = fmaxf(largest, row[j * step]);
        for (int64_t j = 0; j < size; j++) sum += out[i * size + j] = expf(row[j * step] - largest);
        for (int64_t j = 0; j < size; j++) out[i * size + j] /= sum;
    }
    return 0;
}
