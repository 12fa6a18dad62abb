template <class T, class W> static void moments(const T* row, int64_t d, double eps, W& mean, W& scale) {
    W sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) sum += W(load(row + i));
    mean = sum / W(d);
    W m = mean;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < d; i++) { W v = W(load(row + i)) - m; squares += v * v; }
    scale = W(1) / std::sqrt(squares / W(d) + W(eps));
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *bias = at<T>(in[2]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T* row = x + r * d;
                W mean, scale;
                moments(row, d, eps, mean, scale);
#pragma omp simd
                for (int64_t i = 0; i < d; i++)
                    store(y + r * d + i, (W(load(row + i)) - mean) * scale * W(load(weight + i)) + W(load(bias + i)));
            }
        });
    });
}

// h = (x − mean) s, g = dy · weight: dx = s (g − mean(g) − h mean(g h)), dweight = Σ dy h, dbias = Σ dy
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    double eps = scalars[0];
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *dy = at<T>(dout[0]);
        T *dx = at<T>(grads[0]), *dweight = at<T>(grads[1]), *dbias = at<T>(grads[2]);
        std::vector<W> sums(size_t(threads) * 2 * d, W(0));
        share(n, d, threads, [&](int64_t first, int64_t end, int me) {
            W *scaled = sums.data() + size_t(me) * 2 * d, *plain = scaled + d;
            for (int64_t r = first; r < end; r++) {
                const T *row = x + r * d, *dyr = dy + r * d;
                W mean, s, all = 0, along = 0;
                moments(row, d, eps, mean, s);
#pragma omp simd reduction(+ : all, along)
                for (int64_t i = 0; i < d; i++) {
                    W g = W(load(dyr + i)) * W(load(weight + i));
                    all += g;
                    along += g * (W(load(row + i)) - mean) * s;
                }
                all /= W(d);
                along /= W(d);
#pragma omp simd
                for (int64_t i = 0; i < d; i++) {
                    W h = (W(load(row + i)) - mean) * s, g = load(dyr + i);
                    store(dx + r * d + i, s * (g * W(load(weight + i)) - all - h * along));
                    scaled[i] += g * h;
                    plain[i] += g;
                }
            }
        });
        for (int64_t i = 0; i < d; i++) {
            W scaled = 0, plain = 0;
            for (int t = 0; t < threads; t++) {
                scaled += sums[size_t(t) * 2 * d + i];
                plain += sums[size_t(t) * 2 * d + d + i];
            }
            store(dweight + i, scaled);
            store(dbias + i, plain);
        }
    });
}
