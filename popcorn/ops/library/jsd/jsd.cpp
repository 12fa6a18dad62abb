// a = log q, b = log p, m = beta p + (1 - beta) q, kept from 0 as the logarithm of 0 times 0 is not 0
template <class W> static inline vec<W> log_mixture(vec<W> q, vec<W> p, W beta) {
    return log_(larger(all(std::numeric_limits<W>::min()), beta * p + (W(1) - beta) * q));
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *log_q = at<T>(in[0]), *log_p = at<T>(in[1]);
        W beta = W(scalars[0]);
        std::vector<double> sums(threads, 0.0);
        share(n, v, threads, [&](int64_t first, int64_t end, int me) {
            double total = 0;
            for (int64_t r = first; r < end; r++) {
                Sum<W> sum;
                over<W>(v, [&](int64_t i, auto part, int k) {
                    // in lanes beyond the row q = p = 1 and every term is 0
                    vec<W> a = load(log_q + r * v + i, part, W(0)), b = load(log_p + r * v + i, part, W(0)), q = exp_(a), p = exp_(b);
                    vec<W> m = log_mixture<W>(q, p, beta);
                    sum.add(beta * p * (b - m) + (W(1) - beta) * q * (a - m), k);
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

// what m's own change adds cancels: d/da = (1 - beta) q (a - log m), d/db = beta p (b - log m); a gradient that nobody needs has no memory
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *log_q = at<T>(in[0]), *log_p = at<T>(in[1]);
        T *dq = at<T>(grads[0]), *dp = at<T>(grads[1]);
        W beta = W(scalars[0]), g = W(load(at<T>(dout[0]))) / W(n);
        share(n, v, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            over<W>((end - first) * v, [&](int64_t i, auto part, int) {
                int64_t j = first * v + i;
                vec<W> a = load(log_q + j, part, W(0)), b = load(log_p + j, part, W(0)), q = exp_(a), p = exp_(b), m = log_mixture<W>(q, p, beta);
                if (dq) store(dq + j, (g * (W(1) - beta)) * q * (a - m), part);
                if (dp) store(dp + j, (g * beta) * p * (b - m), part);
            });
        });
    });
}
