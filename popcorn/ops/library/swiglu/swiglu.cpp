int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *gate = at<T>(in[0]), *up = at<T>(in[1]);
        T* y = at<T>(out[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            over<W>(end - first, [&](int64_t i, auto part, int) {
                vec<W> x = load(gate + first + i, part, W(0));
                store(y + first + i, x * load(up + first + i, part, W(0)) * sigmoid_<W>(x).value, part);
            });
        });
    });
}

// with s = sigmoid(gate): dgate = dy up s (1 + gate (1 − s)), dup = dy gate s
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *gate = at<T>(in[0]), *up = at<T>(in[1]), *dy = at<T>(dout[0]);
        T *dgate = at<T>(grads[0]), *dup = at<T>(grads[1]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            over<W>(end - first, [&](int64_t i, auto part, int) {
                vec<W> x = load(gate + first + i, part, W(0));
                Sigmoid<W> s = sigmoid_<W>(x);
                vec<W> d = load(dy + first + i, part, W(0)) * s.value;
                store(dgate + first + i, d * load(up + first + i, part, W(0)) * (W(1) + x * s.rest), part);
                store(dup + first + i, d * x, part);
            });
        });
    });
}
