template <class T, class W> static W log_sum(const T* row, int64_t d) {
    W m = largest<T, W>(row, d), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) sum += exp_(W(load(row + i)) - m);
    return m + std::log(sum);
}

static bool outside(const int64_t* index, int64_t n, int64_t v) {
    bool found = false;
    for (int64_t r = 0; r < n; r++) found |= index[r] < 0 || index[r] >= v;
    return found;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* index = at<int64_t>(in[1]);
    if (in[1].dtype != POPCORN_INT64 || outside(index, n, v)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) store(y + r, W(load(x + r * v + index[r])) - log_sum<T, W>(x + r * v, v));
        });
    });
}

// dx = dy (one at the index − softmax(x)), softmax made again from x
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* index = at<int64_t>(in[1]);
    if (in[1].dtype != POPCORN_INT64 || outside(index, n, v)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                W total = log_sum<T, W>(x + r * v, v), g = load(dy + r);
#pragma omp simd
                for (int64_t i = 0; i < v; i++) store(dx + r * v + i, -g * exp_(W(load(x + r * v + i)) - total));
                store(dx + r * v + index[r], g * (W(1) - exp_(W(load(x + r * v + index[r])) - total)));
            }
        });
    });
}
