/* Right and many times slower than the reference, as first tries are: its calls are long, and few of them fill a row that the parent times.
 * PROBLEM = "original/L1/36"
 * TIMED = True
 */
#include <math.h>
#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars, int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream, (void)n_inputs, (void)n_outputs;
    const float* x = inputs[0].data;
    const float* w = inputs[1].data;
    float* out = outputs[0].data;
    int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t r = 0; r < rows; r++) {
        long double s = 0;
        for (int64_t c = 0; c < cols; c++) { long double v = x[r * cols + c]; s += sqrtl(v * v * v * v); }
        double k = 1.0 / sqrt((double)(s / cols) + 1e-6);
        for (int64_t c = 0; c < cols; c++) out[r * cols + c] = (float)(x[r * cols + c] * k * w[c]);
    }
    return 0;
}
