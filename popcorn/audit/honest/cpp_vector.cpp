/* C++ with a vector as workspace.
 * PROBLEM = "softmax"
 */
#include <cmath>
#include <vector>

#include "popcorn_kernel.h"

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int, popcorn_tensor* outputs, int, const double*, int, void*) {
    const popcorn_tensor& in = inputs[0];
    const float* x = static_cast<const float*>(in.data);
    float* out = static_cast<float*>(outputs[0].data);
    std::vector<double> row(in.shape[1]);
    for (int64_t i = 0; i < in.shape[0]; i++) {
        double largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < in.shape[1]; j++) largest = std::fmax(largest, row[j] = x[i * in.stride[0] + j * in.stride[1]]);
        for (double& value : row) sum += value = std::exp(value - largest);
        for (int64_t j = 0; j < in.shape[1]; j++) out[i * in.shape[1] + j] = static_cast<float>(row[j] / sum);
    }
    return 0;
}
