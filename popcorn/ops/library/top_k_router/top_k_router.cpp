// The k largest of a row, largest first: NaN before all, of equals the first.
template <class T, class W> static void choose(const T* row, int64_t e, int64_t k, W* values, int64_t* chosen) {
    auto before = [](W a, W b) { return a > b || (a != a && b == b); };
    int64_t have = 0;
    for (int64_t i = 0; i < e; i++) {
        W v = load(row + i);
        if (have == k && !before(v, values[k - 1])) continue;
        int64_t place = have < k ? have++ : k - 1;
        for (; place > 0 && before(v, values[place - 1]); place--) {
            values[place] = values[place - 1];
            chosen[place] = chosen[place - 1];
        }
        values[place] = v;
        chosen[place] = i;
    }
}

template <class W> static void softmax(W* values, int64_t k) {
    W sum = 0, top = values[0];
    for (int64_t j = 0; j < k; j++) sum += values[j] = exp_(values[j] - top);
    for (int64_t j = 0; j < k; j++) values[j] /= sum;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), e = last(in[0]), k = int64_t(scalars[0]);
    if (k < 1 || k > e) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* weights = at<T>(out[0]);
        int64_t* experts = at<int64_t>(out[1]);
        W* kept = n_out > 2 ? at<W>(out[2]) : nullptr;
        int64_t* kept_experts = n_out > 2 ? at<int64_t>(out[3]) : nullptr;
        share(n, e, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            std::vector<W> values(k);
            for (int64_t r = first; r < end; r++) {
                choose(x + r * e, e, k, values.data(), experts + r * k);
                softmax(values.data(), k);
                for (int64_t j = 0; j < k; j++) {
                    store(weights + r * k + j, values[j]);
                    if (kept) { kept[r * k + j] = values[j]; kept_experts[r * k + j] = experts[r * k + j]; }
                }
            }
        });
    });
}

// of the chosen: w (dw − Σ dw w); of all others 0
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), e = last(in[0]), k = int64_t(scalars[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* dw = at<T>(dout[0]);
        const W* w = at<W>(in[1]);
        const int64_t* experts = at<int64_t>(in[2]);
        T* dx = at<T>(grads[0]);
        share(n, e, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            std::memset(dx + first * e, 0, (end - first) * e * sizeof(T));
            for (int64_t r = first; r < end; r++) {
                W mean = 0;
                for (int64_t j = r * k; j < (r + 1) * k; j++) mean += w[j] * W(load(dw + j));
                for (int64_t j = r * k; j < (r + 1) * k; j++) store(dx + r * e + experts[j], w[j] * (W(load(dw + j)) - mean));
            }
        });
    });
}
