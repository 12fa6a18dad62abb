// the tanh form of GELU (Hendrycks and Gimpel, 2016): x sigmoid(2 u), as (1 + tanh u) / 2 = sigmoid(2 u), with u = 0.798 (x + 0.0447 x³)
template <class W> inline Sigmoid<W> gate_of(vec<W> x) {
    return sigmoid_<W>(W(2 * 0.79788456080286535588) * x * (W(1) + W(0.044715) * (x * x)));
}
template <class W> inline vec<W> slope(vec<W> x, Sigmoid<W> s) {
    return s.value + x * (s.value * s.rest) * (W(2 * 0.79788456080286535588) * (W(1) + W(3 * 0.044715) * (x * x)));
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            over<W>(end - first, [&](int64_t i, auto part, int) {
                vec<W> v = load(x + first + i, part, W(0));
                store(y + first + i, v * gate_of<W>(v).value, part);
            });
        });
    });
}

int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            over<W>(end - first, [&](int64_t i, auto part, int) {
                vec<W> v = load(x + first + i, part, W(0));
                store(dx + first + i, load(dy + first + i, part, W(0)) * slope<W>(v, gate_of<W>(v)), part);
            });
        });
    });
}
