template <class T, class W> static W exponentials(const T* row, int64_t d, W* e) {
    W m = largest<T, W>(row, d), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) {
        W v = exp_(W(load(row + i)) - m);
        e[i] = v;
        sum += v;
    }
    return sum;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> e(d);
            for (int64_t r = first; r < end; r++) {
                W scale = W(1) / exponentials(x + r * d, d, e.data());
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(y + r * d + i, e[i] * scale);
            }
        });
    });
}

// dx = y (dy − Σ dy y), y made again from x: nothing is kept between the passes
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *dy = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> e(d);
            for (int64_t r = first; r < end; r++) {
                W scale = W(1) / exponentials(x + r * d, d, e.data()), along = 0;
#pragma omp simd reduction(+ : along)
                for (int64_t i = 0; i < d; i++) along += e[i] * W(load(dy + r * d + i));
                along *= scale;
#pragma omp simd
                for (int64_t i = 0; i < d; i++) store(dx + r * d + i, e[i] * scale * (W(load(dy + r * d + i)) - along));
            }
        });
    });
}
