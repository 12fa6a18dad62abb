// sin and cos in double (fdlibm's polynomials, Sun Microsystems, 1993) behind a reduction by quarter turns that is exact up to 2^20
static void turn(vec<double> x, vec<double>& sine, vec<double>& cosine) {
    vec<double> shifted = x * 0.63661977236758134308 + 6755399441055744.0;  // 1.5 · 2^52: the whole number stands in the last bits
    vec<double> n = shifted - 6755399441055744.0;
    vec<double> r = (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11, z = r * r;
    vec<double> s = all(1.58969099521155010221e-10), c = all(-1.13596475577881948265e-11);
    for (double k : {-2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01}) s = s * z + k;
    for (double k : {2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02}) c = c * z + k;
    s = r + r * z * s;
    c = 1.0 - z * 0.5 + z * z * c;
    vec<int64_t> quarter = (vec<int64_t>)shifted, odd = -(quarter & 1);
    vec<int64_t> to_sine = (odd & (vec<int64_t>)c) | (~odd & (vec<int64_t>)s), to_cosine = (odd & (vec<int64_t>)s) | (~odd & (vec<int64_t>)c);
    sine = (vec<double>)(to_sine ^ ((quarter & 2) << 62));
    cosine = (vec<double>)(to_cosine ^ (((quarter + 1) & 2) << 62));
}

template <class W> static void angles(double position, const double* rates, int64_t half, W* cosine, W* sine) {
    if (std::abs(position) > double(1 << 20)) {
        for (int64_t i = 0; i < half; i++) { cosine[i] = W(std::cos(position * rates[i])); sine[i] = W(std::sin(position * rates[i])); }
        return;
    }
    for (int64_t i = 0; i < half; i += lanes<double>) {
        First part{std::min(lanes<double>, half - i)};
        vec<double> s, c;
        turn(position * load(rates + i, part, 0.0), s, c);
        for (int64_t j = 0; j < part.n; j++) { cosine[i + j] = W(c[j]); sine[i + j] = W(s[j]); }
    }
}

// x (B, H, T, K) turned forwards, or backwards with direction −1: blocks of times, whose angles serve all heads
template <class T> static void rotate(const popcorn_tensor& shaped, const T* x, const int64_t* positions, T* y, double theta, wide<T> direction, int threads) {
    using W = wide<T>;
    const int64_t BLOCK = 32, heads = shaped.shape[1], times = shaped.shape[2], k = shaped.shape[3], half = k / 2, blocks = (times + BLOCK - 1) / BLOCK;
    std::vector<double> rates(half);
    for (int64_t i = 0; i < half; i++) rates[i] = std::pow(theta, -double(i) / double(half));
    share(shaped.shape[0] * blocks, BLOCK * heads * k, threads, [&](int64_t first, int64_t end, int) {
        std::vector<W> cosine(BLOCK * half), sine(BLOCK * half);
        for (int64_t part_of = first; part_of < end; part_of++) {
            int64_t b = part_of / blocks, start = part_of % blocks * BLOCK, many = std::min(BLOCK, times - start);
            for (int64_t t = 0; t < many; t++)
                angles(double(positions[b * times + start + t]), rates.data(), half, cosine.data() + t * half, sine.data() + t * half);
            for (int64_t h = 0; h < heads; h++)
                for (int64_t t = 0; t < many; t++) {
                    int64_t offset = ((b * heads + h) * times + start + t) * k;
                    over<W>(half, [&](int64_t i, auto part, int) {
                        vec<W> one = load(x + offset + i, part, W(0)), two = load(x + offset + half + i, part, W(0));
                        vec<W> c = load(cosine.data() + t * half + i, part, W(0)), s = load(sine.data() + t * half + i, part, W(0)) * direction;
                        store(y + offset + i, one * c - two * s, part);
                        store(y + offset + half + i, two * c + one * s, part);
                    });
                }
        }
    });
}

int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    if (in[0].shape[3] % 2 || in[1].dtype != POPCORN_INT64) return 2;
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        rotate<T>(in[0], at<T>(in[0]), at<int64_t>(in[1]), at<T>(out[0]), scalars[0], 1, threads);
    });
}

// dx is the turn the other way
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int threads = threads_of(scalars, n_scalars, 1);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        rotate<T>(in[0], at<T>(dout[0]), at<int64_t>(in[1]), at<T>(grads[0]), scalars[0], -1, threads);
    });
}
