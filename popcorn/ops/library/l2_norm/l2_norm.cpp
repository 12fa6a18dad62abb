int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                W squares = 0;
#pragma omp simd reduction(+ : squares)
                for (int64_t i = 0; i < d; i++) { W v = load(x + r * d + i); squares += v * v; }
                W scale = W(1) / std::max(std::sqrt(squares), W(eps));
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(y + r * d + i, W(load(x + r * d + i)) * scale);
            }
        });
    });
}

// s = 1 / ‖x‖: dx = s (dy − x s² Σ dy x); below eps the length is a constant
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                W squares = 0, along = 0;
#pragma omp simd reduction(+ : squares, along)
                for (int64_t i = 0; i < d; i++) {
                    W v = load(x + r * d + i);
                    squares += v * v;
                    along += v * W(load(dy + r * d + i));
                }
                W length = std::sqrt(squares), s = W(1) / std::max(length, W(eps));
                W pull = length < W(eps) ? W(0) : s * s * along;
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(dx + r * d + i, s * (W(load(dy + r * d + i)) - W(load(x + r * d + i)) * pull));
            }
        });
    });
}
