// where each slot's row stands; false for an order that is no permutation of the slots
static bool places(const popcorn_tensor* in, std::vector<int64_t>& place) {
    if (in[1].dtype != POPCORN_INT64) return false;
    const int64_t *order = at<int64_t>(in[1]), slots = in[2].shape[0] * in[2].shape[1];
    place.assign(slots, -1);
    for (int64_t s = 0; s < slots; s++) {
        if (order[s] < 0 || order[s] >= slots || place[order[s]] >= 0) return false;
        place[order[s]] = s;
    }
    return true;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t d = last(in[0]), n = in[2].shape[0], a = in[2].shape[1];
    std::vector<int64_t> place;
    if (!places(in, place)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *rows = at<T>(in[0]), *weights = at<T>(in[2]);
        T* y = at<T>(out[0]);
        share(n, a * d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t t = first; t < end; t++)
                over<W>(d, [&](int64_t i, auto part, int) {
                    vec<W> sum{};
                    for (int64_t c = t * a; c < (t + 1) * a; c++) sum += W(load(weights + c)) * load(rows + place[c] * d + i, part, W(0));
                    store(y + t * d + i, sum, part);
                });
        });
    });
}

// a row gets its weight times its token's dy, a weight their product's sum
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t d = last(in[0]), n = in[2].shape[0], a = in[2].shape[1];
    std::vector<int64_t> place;
    if (!places(in, place)) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *rows = at<T>(in[0]), *weights = at<T>(in[2]), *dy = at<T>(dout[0]);
        T *drows = at<T>(grads[0]), *dweights = at<T>(grads[1]);
        share(n, a * d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t c = first * a; c < end * a; c++) {
                const T *g = dy + c / a * d, *row = rows + place[c] * d;
                W w = load(weights + c);
                Sum<W> sum;
                over<W>(d, [&](int64_t i, auto part, int k) {
                    vec<W> v = load(g + i, part, W(0));
                    sum.add(v * load(row + i, part, W(0)), k);
                    store(drows + place[c] * d + i, w * v, part);
                });
                store(dweights + c, sum.total());
            }
        });
    });
}
