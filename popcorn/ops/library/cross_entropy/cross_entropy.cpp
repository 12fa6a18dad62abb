template <class T, class W> static W log_sum(const T* row, int64_t d) {
    W m = largest<T, W>(row, d), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) sum += exp_(W(load(row + i)) - m);
    return m + std::log(sum);
}

static const int64_t LEFT_OUT = -100;

static int64_t counted(const int64_t* target, int64_t n, int64_t v, bool& outside) {
    int64_t rows = 0;
    for (int64_t r = 0; r < n; r++) {
        rows += target[r] != LEFT_OUT;
        outside |= target[r] != LEFT_OUT && (target[r] < 0 || target[r] >= v);
    }
    return rows;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* target = at<int64_t>(in[1]);
    bool outside = false;
    int64_t rows = counted(target, n, v, outside);
    if (in[1].dtype != POPCORN_INT64 || outside) return 3;
    int threads = threads_of(scalars, n_scalars, 0);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* x = at<T>(in[0]);
        std::vector<double> sums(threads, 0.0);
        share(n, v, threads, [&](int64_t first, int64_t end, int me) {
            double sum = 0;
            for (int64_t r = first; r < end; r++)
                if (target[r] != LEFT_OUT) sum += double(log_sum<T, wide<T>>(x + r * v, v)) - double(load(x + r * v + target[r]));
            sums[me] = sum;
        });
        double total = 0;
        for (double sum : sums) total += sum;
        store(at<T>(out[0]), wide<T>(total / double(rows)));
    });
}

// dx = dy / rows (softmax(x) − one at the target), softmax made again from x
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), v = last(in[0]);
    const int64_t* target = at<int64_t>(in[1]);
    bool outside = false;
    int64_t rows = counted(target, n, v, outside);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* x = at<T>(in[0]);
        T* dx = at<T>(grads[0]);
        W g = W(load(at<T>(dout[0]))) / W(rows);
        share(n, v, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
                if (target[r] == LEFT_OUT) {
                    for (int64_t i = 0; i < v; i++) store(dx + r * v + i, W(0));
                    continue;
                }
                W total = log_sum<T, W>(x + r * v, v);
#pragma omp simd
                for (int64_t i = 0; i < v; i++) store(dx + r * v + i, g * exp_(W(load(x + r * v + i)) - total));
                store(dx + r * v + target[r], g * (exp_(W(load(x + r * v + target[r])) - total) - W(1)));
            }
        });
    });
}
