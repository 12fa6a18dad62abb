template <class T, class W> static W log_sum(const T* row, int64_t d) {
    W m = largest<T, W>(row, d), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) sum += exp_(W(load(row + i)) - m);
    return m + std::log(sum);
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) store(y + r, log_sum<T, wide<T>>(x + r * d, d));
        });
    });
}

// dx = dy softmax(x)
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                W total = log_sum<T, W>(x + r * d, d), g = load(dy + r);
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(dx + r * d + i, g * exp_(W(load(x + r * d + i)) - total));
            }
        });
    });
}
