static const int64_t LEFT_OUT = -100;

static int64_t counted(const int64_t* target, int64_t n, int64_t v, bool& outside) {
    int64_t rows = 0;
    for (int64_t r = 0; r < n; r++) {
        rows += target[r] != LEFT_OUT;
        outside |= target[r] != LEFT_OUT && (target[r] < 0 || target[r] >= v);
    }
    return rows;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* target = at<int64_t>(in[1]);
    bool outside = false;
    int64_t rows = counted(target, n, v, outside);
    if (in[1].dtype != POPCORN_INT64 || outside) return 3;
    int threads = threads_of(scalars, n_scalars, 0);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        W* kept = n_out > 1 ? at<W>(out[1]) : nullptr;
        std::vector<double> sums(threads, 0.0);
        share(n, v, threads, [&](int64_t first, int64_t end, int me) {
            double sum = 0;
            for (int64_t r = first; r < end; r++) {
                if (target[r] == LEFT_OUT) continue;
                Exponentials<W> row = exponentials(x + r * v, v);
                // the target's logit meets the largest first: their sum with a logarithm would round away a small loss
                sum += std::log(double(row.sum)) - (double(load(x + r * v + target[r])) - double(row.top));
                if (kept) { kept[2 * r] = row.top; kept[2 * r + 1] = row.sum; }
            }
            sums[me] = sum;
        });
        double total = 0;
        for (double sum : sums) total += sum;
        store(at<T>(out[0]), W(total / double(rows)));
    });
}

// dx = dy / rows (softmax(x) − one at the target)
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* target = at<int64_t>(in[1]);
    bool outside = false;
    int64_t rows = counted(target, n, v, outside);
    if (outside) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        const W* kept = at<W>(in[2]);
        T* dx = at<T>(grads[0]);
        W g = W(load(at<T>(dout[0]))) / W(rows);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T* row = x + r * v;
                if (target[r] == LEFT_OUT) {
                    over<W>(v, [&](int64_t i, auto part, int) { store(dx + r * v + i, vec<W>{}, part); });
                    continue;
                }
                W top = kept[2 * r], sum = kept[2 * r + 1];
                put_softmax(row, dx + r * v, v, top, g / sum);
                store(dx + r * v + target[r], g * (std::exp(W(load(row + target[r])) - top) / sum - W(1)));
            }
        });
    });
}
