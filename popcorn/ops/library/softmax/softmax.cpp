int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, width, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> room(sizeof(T) == sizeof(W) ? 0 : width);
            alignas(64) W head[128];
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T* row = x + r * d;
                    // a long row and two copies may not fit the cache, and what is as wide as a head stays in registers
                    W* e = d <= 128 ? head : sizeof(T) == sizeof(W) ? (W*)(y + r * d) : room.data();
                    W top = most(row, d);
                    Sum<W> sum;
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> v = exp_below(load(row + i, part, -std::numeric_limits<W>::infinity()) - top);
                        store(e + i, v, part);
                        sum.add(v, k);
                    });
                    W scale = W(1) / sum.total();
                    over<W>(d, [&](int64_t i, auto part, int) { store(y + r * d + i, load(e + i, part, W(0)) * scale, part); });
                }
            });
        });
    });
}

// dx = y (dy − mean), mean = Σ dy y: in a saturated row nearly all of it cancels, so what the mean's rounding lost is added in a second pass
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *out = at<T>(in[0]), *slopes = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, width, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T *y = out + r * d, *dy = slopes + r * d;
                    Sum<W> sum, rest;
                    over<W>(d, [&](int64_t i, auto part, int k) { sum.add(load(y + i, part, W(0)) * load(dy + i, part, W(0)), k); });
                    W mean = sum.total();
                    over<W>(d, [&](int64_t i, auto part, int k) { rest.add(load(y + i, part, W(0)) * (load(dy + i, part, W(0)) - mean), k); });
                    W lost = rest.total();
                    over<W>(d, [&](int64_t i, auto part, int) {
                        store(dx + r * d + i, load(y + i, part, W(0)) * ((load(dy + i, part, W(0)) - mean) - lost), part);
                    });
                }
            });
        });
    });
}
