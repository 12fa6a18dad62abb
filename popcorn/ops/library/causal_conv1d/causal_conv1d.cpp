// x of times start − (w − 1) … start + n, before the beginning 0
template <class T, class W> static void read_past(const T* x, int64_t start, int64_t n, int64_t w, W* past) {
    for (int64_t j = 0; j < w - 1; j++) past[j] = start - (w - 1) + j < 0 ? W(0) : W(load(x + start - (w - 1) + j));
    over<W>(n, [&](int64_t i, auto part, int) { store(past + w - 1 + i, load(x + start + i, part, W(0)), part); });
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t channels = in[0].shape[1], n = in[0].shape[0] * channels, times = in[0].shape[2], w = in[1].shape[1];
    const int64_t BLOCK = 2048;  // and its past stay in the first cache
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *bias = at<T>(in[2]);
        T* y = at<T>(out[0]);
        share(n, times, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> past(BLOCK + w), taps(w);
            for (int64_t r = first; r < end; r++) {
                int64_t c = r % channels;
                for (int64_t j = 0; j < w; j++) taps[j] = load(weight + c * w + j);
                W level = load(bias + c);
                for (int64_t start = 0; start < times; start += BLOCK) {
                    int64_t many = std::min(BLOCK, times - start);
                    read_past(x + r * times, start, many, w, past.data());
                    over<W>(many, [&](int64_t i, auto part, int) {
                        vec<W> sum = all(level);
                        for (int64_t j = 0; j < w; j++) sum += taps[j] * load(past.data() + i + j, part, W(0));
                        store(y + r * times + start + i, sum * sigmoid_<W>(sum).value, part);
                    });
                }
            }
        });
    });
}

// with u the convolution, made again, and g = dy silu'(u): dx is g convolved the other way, dweight and dbias are sums over B and T of g x and g
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t batch = in[0].shape[0], channels = in[0].shape[1], times = in[0].shape[2], w = in[1].shape[1];
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *bias = at<T>(in[2]), *dy = at<T>(dout[0]);
        T *dx = at<T>(grads[0]), *dweight = at<T>(grads[1]), *dbias = at<T>(grads[2]);
        share(channels, batch * times, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            std::vector<W> past(times + w), slopes(times + w), taps(w);
            std::vector<double> sums(w);
            for (int64_t c = first; c < end; c++) {
                for (int64_t j = 0; j < w; j++) taps[j] = load(weight + c * w + j);
                std::fill(sums.begin(), sums.end(), 0.0);
                double levels = 0;
                for (int64_t b = 0; b < batch; b++) {
                    int64_t at_row = (b * channels + c) * times;
                    read_past(x + at_row, 0, times, w, past.data());
                    Sum<W> level;
                    over<W>(times, [&](int64_t i, auto part, int k) {
                        vec<W> u = all(W(load(bias + c)));
                        for (int64_t j = 0; j < w; j++) u += taps[j] * load(past.data() + i + j, part, W(0));
                        Sigmoid<W> s = sigmoid_<W>(u);
                        vec<W> g = load(dy + at_row + i, part, W(0)) * s.value * (W(1) + u * s.rest);
                        store(slopes.data() + i, g, part);
                        level.add(g, k);
                    });
                    levels += double(level.total());
                    std::fill(slopes.begin() + times, slopes.end(), W(0));
                    for (int64_t j = 0; j < w; j++) {
                        Sum<W> sum;
                        over<W>(times, [&](int64_t i, auto part, int k) { sum.add(load(slopes.data() + i, part, W(0)) * load(past.data() + i + j, part, W(0)), k); });
                        sums[j] += double(sum.total());
                    }
                    over<W>(times, [&](int64_t i, auto part, int) {
                        vec<W> sum{};
                        for (int64_t j = 0; j < w; j++) sum += taps[j] * load(slopes.data() + i + w - 1 - j, part, W(0));
                        store(dx + at_row + i, sum, part);
                    });
                }
                for (int64_t j = 0; j < w; j++) store(dweight + c * w + j, W(sums[j]));
                store(dbias + c, W(levels));
            }
        });
    });
}
