int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        W* kept = n_out > 1 ? at<W>(out[1]) : nullptr;
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                Exponentials<W> row = exponentials(x + r * d, d);
                store(y + r, log_sum(row, x + r * d, d));
                if (kept) { kept[2 * r] = row.top; kept[2 * r + 1] = row.sum; }
            }
        });
    });
}

// dx = dy softmax(x)
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        const W* kept = at<W>(in[1]);
        T* dx = at<T>(grads[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) put_softmax(x + r * d, dx + r * d, d, kept[2 * r], W(load(dy + r)) / kept[2 * r + 1]);
        });
    });
}
