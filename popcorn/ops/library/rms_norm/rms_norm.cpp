int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T* row = x + r * d;
                W squares = 0;
#pragma omp simd reduction(+ : squares)
                for (int64_t i = 0; i < d; i++) { W v = load(row + i); squares += v * v; }
                W scale = W(1) / std::sqrt(squares / W(d) + W(eps));
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(y + r * d + i, W(load(row + i)) * scale * W(load(weight + i)));
            }
        });
    });
}

// g = dy · weight, s = 1 / rms: dx = s (g − x s² mean(g x)), dweight = Σ dy x s
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *dy = at<T>(dout[0]);
        T *dx = at<T>(grads[0]), *dweight = at<T>(grads[1]);
        std::vector<W> sums(size_t(threads) * d, W(0));
        share(n, d, threads, [&](int64_t first, int64_t end, int me) {
            W* mine = sums.data() + size_t(me) * d;
            for (int64_t r = first; r < end; r++) {
                const T *row = x + r * d, *dyr = dy + r * d;
                W squares = 0, along = 0;
#pragma omp simd reduction(+ : squares, along)
                for (int64_t i = 0; i < d; i++) {
                    W v = load(row + i);
                    squares += v * v;
                    along += v * W(load(dyr + i)) * W(load(weight + i));
                }
                W s = W(1) / std::sqrt(squares / W(d) + W(eps));
                W pull = s * s * along / W(d);
#pragma omp simd
                for (int64_t i = 0; i < d; i++) {
                    W v = load(row + i), g = load(dyr + i);
                    store(dx + r * d + i, s * (g * W(load(weight + i)) - v * pull));
                    mine[i] += g * v * s;
                }
            }
        });
        for (int64_t i = 0; i < d; i++) {
            W sum = 0;
            for (int t = 0; t < threads; t++) sum += sums[size_t(t) * d + i];
            store(dweight + i, sum);
        }
    });
}
