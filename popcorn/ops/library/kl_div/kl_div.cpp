int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    int threads = threads_of(scalars, n_scalars, 0);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *log_q = at<T>(in[0]), *log_p = at<T>(in[1]);
        std::vector<double> sums(threads, 0.0);
        share(n, v, threads, [&](int64_t first, int64_t end, int me) {
            double total = 0;
            for (int64_t r = first; r < end; r++) {
                Sum<W> sum;
                over<W>(v, [&](int64_t i, auto part, int k) {
                    vec<W> a = load(log_q + r * v + i, part, W(0)), b = load(log_p + r * v + i, part, W(0));
                    sum.add(exp_(b) * (b - a), k);  // 0 in the lanes beyond
                });
                total += double(sum.total());
            }
            sums[me] = total;
        });
        double total = 0;
        for (double sum : sums) total += sum;
        store(at<T>(out[0]), W(total / double(n)));
    });
}

// dlog_q = −g p / n, dlog_p = g p (1 + log p − log q) / n; a gradient that nobody needs has no memory
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *log_q = at<T>(in[0]), *log_p = at<T>(in[1]);
        T *dq = at<T>(grads[0]), *dp = at<T>(grads[1]);
        W g = W(load(at<T>(dout[0]))) / W(n);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            over<W>((end - first) * v, [&](int64_t i, auto part, int) {
                int64_t j = first * v + i;
                vec<W> b = load(log_p + j, part, W(0)), e = g * exp_(b);
                if (dq) store(dq + j, -e, part);
                if (dp) store(dp + j, e * (W(1) + (b - load(log_q + j, part, W(0)))), part);
            });
        });
    });
}
