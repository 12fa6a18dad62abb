/* A native thread fills the output after the call returned.
 * PROBLEM = "softmax"
 * CATALOGUE = (3,)
 * OUTCOMES = {"wrong_values", "not_deterministic", "nonfinite", "crash"}
 */
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "popcorn_kernel.h"

static popcorn_tensor in;
static float* out;

static void softmax(const popcorn_tensor* in, float* out) {
    const float* x = in->data;
    for (int64_t i = 0; i < in->shape[0]; i++) {
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < in->shape[1]; j++) largest = fmaxf(largest, x[i * in->stride[0] + j * in->stride[1]]);
        for (int64_t j = 0; j < in->shape[1]; j++) sum += out[i * in->shape[1] + j] = expf(x[i * in->stride[0] + j * in->stride[1]] - largest);
        for (int64_t j = 0; j < in->shape[1]; j++) out[i * in->shape[1] + j] /= sum;
    }
}

static void* later(void* unused) {
    usleep(50000);
    softmax(&in, out);
    return unused;
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    pthread_t thread;
    in = inputs[0], out = outputs[0].data;
    pthread_create(&thread, 0, later, 0);
    pthread_detach(thread);
    return 0;
}
