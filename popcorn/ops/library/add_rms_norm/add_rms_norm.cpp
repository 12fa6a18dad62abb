int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *residual = at<T>(in[1]), *weight = at<T>(in[2]);
        T *y = at<T>(out[0]), *total = at<T>(out[1]);
        share(n, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T *a = x + r * d, *b = residual + r * d;
                T* sum = total + r * d;
                W squares = 0;
#pragma omp simd reduction(+ : squares)
                for (int64_t i = 0; i < d; i++) {
                    store(sum + i, W(load(a + i)) + W(load(b + i)));
                    W v = load(sum + i);  // as rounded: the norm is of what the caller gets
                    squares += v * v;
                }
                W scale = W(1) / std::sqrt(squares / W(d) + W(eps));
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(y + r * d + i, W(load(sum + i)) * scale * W(load(weight + i)));
            }
        });
    });
}

// the sum's gradient comes through the norm and through the second output; both inputs get it
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *residual = at<T>(in[1]), *weight = at<T>(in[2]), *dy = at<T>(dout[0]), *dtotal = at<T>(dout[1]);
        T *dx = at<T>(grads[0]), *dresidual = at<T>(grads[1]), *dweight = at<T>(grads[2]);
        std::vector<W> sums(size_t(threads) * d, W(0));
        share(n, d, threads, [&](int64_t first, int64_t end, int me) {
            W* mine = sums.data() + size_t(me) * d;
            std::vector<W> total(d);
            for (int64_t r = first; r < end; r++) {
                const T *a = x + r * d, *b = residual + r * d, *dyr = dy + r * d, *dtr = dtotal + r * d;
                W squares = 0, along = 0;
#pragma omp simd reduction(+ : squares, along)
                for (int64_t i = 0; i < d; i++) {
                    T rounded;
                    store(&rounded, W(load(a + i)) + W(load(b + i)));
                    W v = load(&rounded);
                    total[i] = v;
                    squares += v * v;
                    along += v * W(load(dyr + i)) * W(load(weight + i));
                }
                W s = W(1) / std::sqrt(squares / W(d) + W(eps));
                W pull = s * s * along / W(d);
#pragma omp simd
                for (int64_t i = 0; i < d; i++) {
                    W v = total[i], g = load(dyr + i);
                    W both = s * (g * W(load(weight + i)) - v * pull) + W(load(dtr + i));
                    store(dx + r * d + i, both);
                    store(dresidual + r * d + i, both);
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
