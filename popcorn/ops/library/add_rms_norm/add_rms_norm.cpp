int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    double eps = scalars[0];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *residual = at<T>(in[1]), *weight = at<T>(in[2]);
        T *y = at<T>(out[0]), *total = at<T>(out[1]);
        share(n, width, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T *a = x + r * d, *b = residual + r * d;
                    T* sum = total + r * d;
                    Sum<W> squares;
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> v = rounded<T>(load(a + i, part, W(0)) + load(b + i, part, W(0)));  // the norm is of what the caller gets
                        store(sum + i, v, part);
                        squares.add(v * v, k);
                    });
                    W scale = W(1) / std::sqrt(squares.total() / W(d) + W(eps));
                    over<W>(d, [&](int64_t i, auto part, int) {
                        store(y + r * d + i, load(sum + i, part, W(0)) * scale * load(weight + i, part, W(0)), part);
                    });
                }
            });
        });
    });
}

// the sum's gradient comes through the norm and through the second output; both inputs get it
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), width = last(in[0]);
    double eps = scalars[0];
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *residual = at<T>(in[1]), *weight = at<T>(in[2]), *dy = at<T>(dout[0]), *dtotal = at<T>(dout[1]);
        T *dx = at<T>(grads[0]), *dresidual = at<T>(grads[1]), *dweight = at<T>(grads[2]);
        Columns<W> columns(threads, width);
        share(n, width, threads, [&](int64_t first, int64_t end, int me) {
            by_width<T>(width, [&](auto d) {
                for (int64_t r = first; r < end; r++) {
                    const T *a = x + r * d, *b = residual + r * d, *dyr = dy + r * d, *dtr = dtotal + r * d;
                    Sum<W> squares, along;
                    over<W>(d, [&](int64_t i, auto part, int k) {
                        vec<W> v = rounded<T>(load(a + i, part, W(0)) + load(b + i, part, W(0)));
                        squares.add(v * v, k);
                        along.add(v * load(dyr + i, part, W(0)) * load(weight + i, part, W(0)), k);
                    });
                    W s = W(1) / std::sqrt(squares.total() / W(d) + W(eps)), pull = s * s * along.total() / W(d);
                    W* sums = columns.next(me);
                    over<W>(d, [&](int64_t i, auto part, int) {
                        vec<W> v = rounded<T>(load(a + i, part, W(0)) + load(b + i, part, W(0))), g = load(dyr + i, part, W(0));
                        vec<W> both = s * (g * load(weight + i, part, W(0)) - v * pull) + load(dtr + i, part, W(0));
                        store(dx + r * d + i, both, part);
                        store(dresidual + r * d + i, both, part);
                        store(sums + i, load(sums + i, part, W(0)) + g * v * s, part);
                    });
                }
            });
        });
        columns.put(dweight);
    });
}
