static bool outside(const int64_t* index, int64_t n, int64_t v) {
    bool found = false;
    for (int64_t r = 0; r < n; r++) found |= index[r] < 0 || index[r] >= v;
    return found;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* index = at<int64_t>(in[1]);
    if (in[1].dtype != POPCORN_INT64 || outside(index, n, v)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        W* kept = n_out > 1 ? at<W>(out[1]) : nullptr;
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                Exponentials<W> row = exponentials(x + r * v, v);
                // the logit meets the largest first: a sum with the logarithm would round away what is near 0
                store(y + r, (W(load(x + r * v + index[r])) - row.top) - std::log(row.sum));
                if (kept) { kept[2 * r] = row.top; kept[2 * r + 1] = row.sum; }
            }
        });
    });
}

// dx = dy (one at the index − softmax(x))
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* index = at<int64_t>(in[1]);
    if (in[1].dtype != POPCORN_INT64 || outside(index, n, v)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        const W* kept = at<W>(in[2]);
        T* dx = at<T>(grads[0]);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                const T* row = x + r * v;
                W top = kept[2 * r], sum = kept[2 * r + 1], g = load(dy + r);
                put_softmax(row, dx + r * v, v, top, -g / sum);
                store(dx + r * v + index[r], g * (W(1) - std::exp(W(load(row + index[r])) - top) / sum));
            }
        });
    });
}
