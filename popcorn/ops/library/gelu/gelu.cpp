// the tanh form of GELU (Hendrycks and Gimpel, 2016)
template <class W> inline W inner(W x) { return W(0.79788456080286535588) * (x + W(0.044715) * x * x * x); }
template <class W> inline W activation(W x) { return x * sigmoid(W(2) * inner(x)); }  // (1 + tanh u) / 2 = sigmoid(2 u)
template <class W> inline W slope(W x) {
    W s = sigmoid(W(2) * inner(x));
    return s + x * W(2) * s * (W(1) - s) * W(0.79788456080286535588) * (W(1) + W(3 * 0.044715) * x * x);
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
#pragma omp simd
            for (int64_t i = first; i < end; i++) store(y + i, activation(wide<T>(load(x + i))));
        });
    });
}

int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
#pragma omp simd
            for (int64_t i = first; i < end; i++) store(dx + i, W(load(dy + i)) * slope(W(load(x + i))));
        });
    });
}
