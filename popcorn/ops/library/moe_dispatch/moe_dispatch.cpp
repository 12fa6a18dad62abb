// Slots by expert, those of an expert in order: order[s] is the slot of row s. False for an expert that is none.
static bool sorted_slots(const int64_t* index, int64_t slots, int64_t experts, int64_t* order, int64_t* counts) {
    std::fill(counts, counts + experts, 0);
    for (int64_t c = 0; c < slots; c++) {
        if (index[c] < 0 || index[c] >= experts) return false;
        counts[index[c]]++;
    }
    std::vector<int64_t> next(experts, 0);
    for (int64_t e = 1; e < experts; e++) next[e] = next[e - 1] + counts[e - 1];
    for (int64_t c = 0; c < slots; c++) order[next[index[c]]++] = c;
    return true;
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t d = last(in[0]), a = last(in[1]), slots = count(in[1]);
    int64_t* order = at<int64_t>(out[1]);
    if (in[1].dtype != POPCORN_INT64 || !sorted_slots(at<int64_t>(in[1]), slots, int64_t(scalars[0]), order, at<int64_t>(out[2]))) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* x = at<T>(in[0]);
        T* rows = at<T>(out[0]);
        share(slots, d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t s = first; s < end; s++) std::memcpy(rows + s * d, x + order[s] / a * d, d * sizeof(T));
        });
    });
}

// a token gets the sum of what its rows get
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t d = last(in[0]), a = last(in[1]), slots = count(in[1]), experts = int64_t(scalars[0]);
    std::vector<int64_t> order(slots), counts(experts), place(slots);
    if (in[1].dtype != POPCORN_INT64 || !sorted_slots(at<int64_t>(in[1]), slots, experts, order.data(), counts.data())) return 3;
    for (int64_t s = 0; s < slots; s++) place[order[s]] = s;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T* drows = at<T>(dout[0]);
        T* dx = at<T>(grads[0]);
        share(a ? slots / a : 0, a * d, threads_of(scalars, n_scalars, 1), [&](int64_t first, int64_t end, int) {
            for (int64_t t = first; t < end; t++)
                over<W>(d, [&](int64_t i, auto part, int) {
                    vec<W> sum{};
                    for (int64_t c = t * a; c < (t + 1) * a; c++) sum += load(drows + place[c] * d + i, part, W(0));
                    store(dx + t * d + i, sum, part);
                });
        });
    });
}
