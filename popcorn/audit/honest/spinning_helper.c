/* A helper that is never asked, and waits in a busy loop on the core of the call: slow, and not a false clock.
 * PROBLEM = "softmax"
 * TIMED = True
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "popcorn_kernel.h"

static atomic_int wanted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void* work(void* unused) {
    while (!atomic_load(&wanted));
    return 0;
}

static void start(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    pthread_once(&once, start);
    const popcorn_tensor* in = &inputs[0];
    const float* x = in->data;
    float* out = outputs[0].data;
    const int64_t size = in->shape[1], step = in->stride[1];
    for (int64_t i = 0; i < in->shape[0]; i++) {
        const float* row = x + i * in->stride[0];
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < size; j++) largest = fmaxf(largest, row[j * step]);
        for (int64_t j = 0; j < size; j++) sum += out[i * size + j] = expf(row[j * step] - largest);
        for (int64_t j = 0; j < size; j++) out[i * size + j] /= sum;
    }
    return 0;
}
