// The mean is kept as two numbers, what it is rounded to and what that lost: rows far from 0 are nearly all mean.
int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *bias = at<T>(in[2]);
        T* y = at<T>(out[0]);
        W* kept = n_out > 1 ? at<W>(out[1]) : nullptr;
        share(n, width, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T* row = x + r * d;
                    Sum<W> sum, rest, squares;
                    over<W>(d, [&](int64_t i, auto part, int k) { sum.add(load(row + i, part, W(0)), k); });
                    W mean = sum.total() / W(d);
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> v = load(row + i, part, mean) - mean;
                        rest.add(v, k);
                        squares.add(v * v, k);
                    });
                    W low = rest.total() / W(d), s = W(1) / std::sqrt(std::max(squares.total() / W(d) - low * low, W(0)) + W(eps));
                    W low_s = low * s;
                    over<W>(d, [&](int64_t i, auto part, int) {
                        vec<W> h = (load(row + i, part, W(0)) - mean) * s - low_s;
                        store(y + r * d + i, h * load(weight + i, part, W(0)) + load(bias + i, part, W(0)), part);
                    });
                    if (kept) { kept[3 * r] = mean; kept[3 * r + 1] = low; kept[3 * r + 2] = s; }
                }
            });
        });
    });
}

// h = (x − mean) s, g = dy · weight: dx = s (g − mean(g) − h mean(g h)), dweight = Σ dy h, dbias = Σ dy
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *dy = at<T>(dout[0]);
        const W* kept = at<W>(in[3]);
        T *dx = at<T>(grads[0]), *dweight = at<T>(grads[1]), *dbias = at<T>(grads[2]);
        Columns<W> scaled(threads, width), plain(threads, width);
        share(n, width, threads, [&](int64_t first, int64_t end, int me) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T *row = x + r * d, *dyr = dy + r * d;
                    W mean = kept[3 * r], low = kept[3 * r + 1], s = kept[3 * r + 2];
                    Sum<W> all_g, along;
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> g = load(dyr + i, part, W(0)) * load(weight + i, part, W(0));
                        all_g.add(g, k);
                        along.add(g * (load(row + i, part, W(0)) - mean), k);
                    });
                    W sum_g = all_g.total(), level = sum_g / W(d), pull = (along.total() - low * sum_g) * s / W(d), low_s = low * s;
                    W *to_scaled = scaled.next(me), *to_plain = plain.next(me);
                    over<W>(d, [&](int64_t i, auto part, int) {
                        vec<W> h = (load(row + i, part, W(0)) - mean) * s - low_s, g = load(dyr + i, part, W(0));
                        store(dx + r * d + i, s * (g * load(weight + i, part, W(0)) - level - h * pull), part);
                        store(to_scaled + i, load(to_scaled + i, part, W(0)) + g * h, part);
                        store(to_plain + i, load(to_plain + i, part, W(0)) + g, part);
                    });
                }
            });
        });
        scaled.put(dweight);
        plain.put(dbias);
    });
}
