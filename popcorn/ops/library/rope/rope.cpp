int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t k = last(in[0]), times = in[1].shape[0], n = leading(in[0]), half = k / 2;
    if (k % 2) return 2;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *cosine = at<T>(in[1]), *sine = at<T>(in[2]);
        T* y = at<T>(out[0]);
        share(n, k, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T *row = x + r * k, *c = cosine + r % times * k, *s = sine + r % times * k;
                T* to = y + r * k;
#pragma omp simd
                for (int64_t i = 0; i < half; i++) {
                    W a = load(row + i), b = load(row + half + i);
                    store(to + i, a * W(load(c + i)) - b * W(load(s + i)));
                    store(to + half + i, b * W(load(c + half + i)) + a * W(load(s + half + i)));
                }
            }
        });
    });
}

// dx is the rotation the other way; dcos and dsin are sums over everything before T; a gradient that nobody needs has no memory
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t k = last(in[0]), times = in[1].shape[0], n = leading(in[0]), half = k / 2, groups = times ? n / times : 0;
    if (k % 2) return 2;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *cosine = at<T>(in[1]), *sine = at<T>(in[2]), *dy = at<T>(dout[0]);
        T *dx = at<T>(grads[0]), *dcos = at<T>(grads[1]), *dsin = at<T>(grads[2]);
        if (dx && !dcos && !dsin)
            return share(n, k, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
                for (int64_t r = first; r < end; r++) {
                    const T *d = dy + r * k, *c = cosine + r % times * k, *s = sine + r % times * k;
                    over<W>(half, [&](int64_t i, auto part, int) {
                        vec<W> da = load(d + i, part, W(0)), db = load(d + half + i, part, W(0));
                        store(dx + r * k + i, da * load(c + i, part, W(0)) + db * load(s + half + i, part, W(0)), part);
                        store(dx + r * k + half + i, db * load(c + half + i, part, W(0)) - da * load(s + i, part, W(0)), part);
                    });
                }
            });
        share(times, groups * k, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> sums(2 * k);
            W *sc = sums.data(), *ss = sc + k;
            for (int64_t t = first; t < end; t++) {
                std::fill(sums.begin(), sums.end(), W(0));
                const T *c = cosine + t * k, *s = sine + t * k;
                for (int64_t g = 0; g < groups; g++) {
                    int64_t offset = (g * times + t) * k;
                    const T *row = x + offset, *d = dy + offset;
                    T* to = dx + offset;
#pragma omp simd
                    for (int64_t i = 0; i < half; i++) {
                        W a = load(row + i), b = load(row + half + i), da = load(d + i), db = load(d + half + i);
                        if (dx) {
                            store(to + i, da * W(load(c + i)) + db * W(load(s + half + i)));
                            store(to + half + i, db * W(load(c + half + i)) - da * W(load(s + i)));
                        }
                        sc[i] += da * a;
                        sc[half + i] += db * b;
                        ss[i] -= da * b;
                        ss[half + i] += db * a;
                    }
                }
                for (int64_t i = 0; i < k; i++) {
                    if (dcos) store(dcos + t * k + i, sc[i]);
                    if (dsin) store(dsin + t * k + i, ss[i]);
                }
            }
        });
    });
}
