int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, width, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T* row = x + r * d;
                    Sum<W> squares;
                    over<W>(d, [&](int64_t i, auto part, int k) { vec<W> v = load(row + i, part, W(0)); squares.add(v * v, k); });
                    W scale = W(1) / std::max(std::sqrt(squares.total()), W(eps));
                    over<W>(d, [&](int64_t i, auto part, int) { store(y + r * d + i, load(row + i, part, W(0)) * scale, part); });
                }
            });
        });
    });
}

// s = 1 / ‖x‖: dx = s (dy − x s² Σ dy x); below eps the length is a constant
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, width, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T *row = x + r * d, *dyr = dy + r * d;
                    Sum<W> squares, along;
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> v = load(row + i, part, W(0));
                        squares.add(v * v, k);
                        along.add(v * load(dyr + i, part, W(0)), k);
                    });
                    W length = std::sqrt(squares.total()), s = W(1) / std::max(length, W(eps));
                    W pull = length < W(eps) ? W(0) : s * s * along.total();
                    over<W>(d, [&](int64_t i, auto part, int) {
                        store(dx + r * d + i, s * (load(dyr + i, part, W(0)) - load(row + i, part, W(0)) * pull), part);
                    });
                }
            });
        });
    });
}
