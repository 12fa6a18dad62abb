// Few rows of x: the weights are what must be read, once, a byte each, and are widened in registers. Four rows of weights at a time share the loads of x.
template <class W> inline vec<W> widened(const int8_t* w, All) {
    typename Vector<int8_t, lanes<W>>::type bytes = *(const typename Vector<int8_t, lanes<W>>::loose*)w;
    return __builtin_convertvector(__builtin_convertvector(bytes, ints<W>), vec<W>);
}
#if defined(__AVX512F__)  // the compiler's own way there goes element by element
template <> inline vec<float> widened<float>(const int8_t* w, All) {
    return (vec<float>)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)w)));
}
#elif defined(__AVX2__)
template <> inline vec<float> widened<float>(const int8_t* w, All) {
    return (vec<float>)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)w)));
}
#endif
template <class W> inline vec<W> widened(const int8_t* w, First part) {
    int8_t some[lanes<W>] = {};
    std::memcpy(some, w, part.n);
    return widened<W>(some, All{});
}

template <class T, class W> static void products(const T* x, const int8_t* weight, int64_t k, int64_t step, W* sums) {
    Sum<W> a, b, c, d;
    over<W>(k, [&](int64_t i, auto part, int which) {
        vec<W> v = load(x + i, part, W(0));
        a.add(v * widened<W>(weight + i, part), which & 1);
        b.add(v * widened<W>(weight + step + i, part), which & 1);
        c.add(v * widened<W>(weight + 2 * step + i, part), which & 1);
        d.add(v * widened<W>(weight + 3 * step + i, part), which & 1);
    });
    sums[0] = a.total(); sums[1] = b.total(); sums[2] = c.total(); sums[3] = d.total();
}

// act(row, column, x · weight without the scale) of every element
template <class T, class Act> static void every_product(const T* x, const int8_t* weight, int64_t rows, int64_t n, int64_t k, int threads, Act act) {
    share((n + 3) / 4, 4 * k * rows, threads, [&](int64_t first, int64_t end, int) {
        wide<T> sums[4];
        for (int64_t j = 4 * first; j < std::min(4 * end, n); j += 4)
            for (int64_t r = 0; r < rows; r++) {
                if (j + 4 <= n) {
                    products(x + r * k, weight + j * k, k, k, sums);
                    for (int64_t m = 0; m < 4; m++) act(r, j + m, sums[m]);
                    continue;
                }
                for (int64_t m = j; m < n; m++) {  // fewer than four at the end: one, four times over
                    products(x + r * k, weight + m * k, k, 0, sums);
                    act(r, m, sums[0]);
                }
            }
    });
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t rows = leading(in[0]), k = last(in[0]), n = in[1].shape[0];
    if (in[1].dtype != POPCORN_INT8) return 3;
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *scale = at<T>(in[2]);
        T* y = at<T>(out[0]);
        every_product(x, at<int8_t>(in[1]), rows, n, k, threads_of(scalars, n_scalars, 0), [&](int64_t r, int64_t j, W sum) {
            store(y + r * n + j, sum * W(load(scale + j)));
        });
    });
}

// dx = (dy · scale) weight, dscale = Σ over rows of dy (x · weight)
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t rows = leading(in[0]), k = last(in[0]), n = in[1].shape[0];
    if (in[1].dtype != POPCORN_INT8) return 3;
    int threads = threads_of(scalars, n_scalars, 0);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *scale = at<T>(in[2]), *dy = at<T>(dout[0]);
        const int8_t* weight = at<int8_t>(in[1]);
        T *dx = at<T>(grads[0]), *dscale = at<T>(grads[1]);
        if (dscale) {
            std::vector<W> sums(n);
            every_product(x, weight, rows, n, k, threads, [&](int64_t r, int64_t j, W sum) { sums[j] += W(load(dy + r * n + j)) * sum; });
            for (int64_t j = 0; j < n; j++) store(dscale + j, sums[j]);
        }
        const int64_t BLOCK = 256;  // columns whose sums stay in the first cache
        if (dx) share((k + BLOCK - 1) / BLOCK, BLOCK * n * rows, threads, [&](int64_t first, int64_t end, int) {
            std::vector<W> sums(rows * BLOCK);
            for (int64_t c = first * BLOCK; c < std::min(end * BLOCK, k); c += BLOCK) {
                int64_t many = std::min(BLOCK, k - c);
                std::fill(sums.begin(), sums.end(), W(0));
                for (int64_t j = 0; j < n; j++)
                    for (int64_t r = 0; r < rows; r++) {
                        W g = W(load(dy + r * n + j)) * W(load(scale + j));
                        W* to = sums.data() + r * BLOCK;
                        over<W>(many, [&](int64_t i, auto part, int) {
                            store(to + i, load(to + i, part, W(0)) + g * widened<W>(weight + j * k + c + i, part), part);
                        });
                    }
                for (int64_t r = 0; r < rows; r++)
                    over<W>(many, [&](int64_t i, auto part, int) { store(dx + r * k + c + i, load(sums.data() + r * BLOCK + i, part, W(0)), part); });
            }
        });
    });
}
