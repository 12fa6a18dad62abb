template <class W> inline W activation(W x) { return x * sigmoid(x); }
template <class W> inline W slope(W x) {
    W s = sigmoid(x);
    return s * (W(1) + x * (W(1) - s));
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *gate = at<T>(in[0]), *up = at<T>(in[1]);
        T* y = at<T>(out[0]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
#pragma omp simd
            for (int64_t i = first; i < end; i++) store(y + i, activation(W(load(gate + i))) * W(load(up + i)));
        });
    });
}

int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = count(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *gate = at<T>(in[0]), *up = at<T>(in[1]), *dy = at<T>(dout[0]);
        T *dgate = at<T>(grads[0]), *dup = at<T>(grads[1]);
        share(n, 1, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
#pragma omp simd
            for (int64_t i = first; i < end; i++) {
                W g = load(gate + i), d = load(dy + i);
                store(dgate + i, d * W(load(up + i)) * slope(g));
                store(dup + i, d * activation(g));
            }
        });
    });
}
