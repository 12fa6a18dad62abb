// Rows of floating numbers by whole vectors: GCC's and Clang's vector extension at the width of this processor's registers.
// Nothing is left to a compiler's own judgement of what may become a vector. Sums run in four vectors at a time: no chain of additions is
// longer than a 4 · lanes-th of the row, for speed and for its error.
#include <type_traits>
#include <utility>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace rows {

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif
template <class W, int BYTES> struct Vector {
    using type [[gnu::vector_size(BYTES)]] = W;
    using loose [[gnu::vector_size(BYTES), gnu::aligned(alignof(W))]] = W;  // as it lies in memory: a store to one aliases elements of W alone
};
template <class W> using vec = typename Vector<W, VECTOR_BYTES>::type;
template <class W> constexpr int64_t lanes = VECTOR_BYTES / sizeof(W);
template <class W> struct Whole { using type = int32_t; };
template <> struct Whole<double> { using type = int64_t; };
template <class W> using ints = vec<typename Whole<W>::type>;

template <class W> inline vec<W> all(W v) { return v - vec<W>{}; }

template <class W> inline ints<W> first(int64_t n) {  // true in the first n lanes
    using I = typename Whole<W>::type;
    alignas(64) static constexpr I PLACES[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return *(const ints<W>*)PLACES < I(n);
}

// -- loads and stores: all lanes, or the first n with `other` in the rest ------------------------------------------------------------

struct All {};
struct First { int64_t n; };

template <class T> inline vec<wide<T>> load(const T* p, All) {
    vec<wide<T>> v;
    for (int i = 0; i < lanes<wide<T>>; i++) v[i] = load(p + i);
    return v;
}
template <class T> inline void store(T* p, vec<wide<T>> v, All) {
    for (int i = 0; i < lanes<wide<T>>; i++) store(p + i, wide<T>(v[i]));
}
template <class W> using loose = typename Vector<W, VECTOR_BYTES>::loose;
using halves = Vector<uint16_t, VECTOR_BYTES / 2>;
inline vec<float> load(const float* p, All) { return *(const loose<float>*)p; }
inline vec<double> load(const double* p, All) { return *(const loose<double>*)p; }
inline void store(float* p, vec<float> v, All) { *(loose<float>*)p = v; }
inline void store(double* p, vec<double> v, All) { *(loose<double>*)p = v; }
inline vec<float> load(const bf16* p, All) {
    halves::type bits = *(const halves::loose*)&p->bits;
    return (vec<float>)(__builtin_convertvector(bits, vec<uint32_t>) << 16);
}
inline void store(bf16* p, vec<float> v, All) {
    vec<uint32_t> bits = (vec<uint32_t>)v;
    vec<uint32_t> rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    rounded = (vec<int32_t>)((bits & 0x7fffffffu) > 0x7f800000u) ? vec<uint32_t>{} + 0x7fc0u : rounded;
    *(halves::loose*)&p->bits = __builtin_convertvector(rounded, halves::type);
}
#if defined(__AVX512F__)
inline vec<float> load(const _Float16* p, All) { return (vec<float>)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
inline void store(_Float16* p, vec<float> v, All) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT)); }
#elif defined(__F16C__) && defined(__FLT16_MANT_DIG__)
inline vec<float> load(const _Float16* p, All) { return (vec<float>)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
inline void store(_Float16* p, vec<float> v, All) { _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT)); }
#endif

template <class T> inline vec<wide<T>> load(const T* p, All part, wide<T>) { return load(p, part); }
template <class T> inline vec<wide<T>> load(const T* p, First part, wide<T> other = 0) {
    T some[lanes<wide<T>>];
    std::memset(some, 0, sizeof some);
    std::memcpy(some, p, part.n * sizeof(T));
    return first<wide<T>>(part.n) ? load(some, All{}) : all(other);
}
template <class T> inline void store(T* p, vec<wide<T>> v, First part) {
    T some[lanes<wide<T>>];
    store(some, v, All{});
    std::memcpy(p, some, part.n * sizeof(T));
}
#if defined(__AVX512F__)
inline vec<float> load(const float* p, First part, float other = 0) {
    return (vec<float>)_mm512_mask_loadu_ps((__m512)all(other), __mmask16((1u << part.n) - 1), p);
}
inline void store(float* p, vec<float> v, First part) { _mm512_mask_storeu_ps(p, __mmask16((1u << part.n) - 1), (__m512)v); }
#endif

// act(i, which lanes, which of four accumulators) over 0 … n
template <class W, class Act> inline __attribute__((always_inline)) void over(int64_t n, Act act) {
    constexpr int64_t L = lanes<W>;
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L) {
        act(i, All{}, 0);
        act(i + L, All{}, 1);
        act(i + 2 * L, All{}, 2);
        act(i + 3 * L, All{}, 3);
    }
    for (; i + L <= n; i += L) act(i, All{}, 0);
    if (i < n) act(i, First{n - i}, 1);
}

// act(width): of rows as wide as a head, a constant that compilers unroll by; a loop's own cost would be as large as its work
template <class T, class Act> inline void by_width(int64_t d, Act act) {
    if constexpr (std::is_same<T, float>::value) {  // elsewhere they would cost more of a build than they give
        if (d == 64) return act(std::integral_constant<int64_t, 64>{});
        if (d == 128) return act(std::integral_constant<int64_t, 128>{});
    }
    act(d);
}

// -- sums and largest of a row --------------------------------------------------------------------------------------------------------

inline vec<float> larger(vec<float> a, vec<float> b) {  // b where one is NaN
#if defined(__AVX512F__)
    return (vec<float>)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
    return (vec<float>)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return a > b ? a : b;
#endif
}
inline vec<double> larger(vec<double> a, vec<double> b) { return a > b ? a : b; }

template <class V, size_t... I> inline auto lower(V v, std::index_sequence<I...>) { return __builtin_shufflevector(v, v, I...); }
template <class V, size_t... I> inline auto upper(V v, std::index_sequence<I...>) { return __builtin_shufflevector(v, v, (I + sizeof...(I))...); }
// all lanes to one: one half on the other, again and again
template <class V, class Act> inline auto folded(V v, Act act) {
    constexpr size_t n = sizeof v / sizeof v[0];
    using half = std::make_index_sequence<n / 2>;
    if constexpr (n == 2) return act(v[0], v[1]);
    else if constexpr (n == 4) return act(act(v[0], v[2]), act(v[1], v[3]));
    else return folded(act(lower(v, half{}), upper(v, half{})), act);
}

template <class W> struct Sum {
    vec<W> part[4] = {};
    inline void add(vec<W> v, int k) { part[k] += v; }
    inline W total() const {
        return folded((part[0] + part[1]) + (part[2] + part[3]), [](auto a, auto b) { return a + b; });
    }
};
template <class W> struct Most {
    vec<W> part[4];
    inline Most() { for (auto& one : part) one = all(-std::numeric_limits<W>::infinity()); }
    inline void add(vec<W> v, int k) { part[k] = larger(v, part[k]); }  // NaN is passed over
    inline W total() const {
        return folded(larger(larger(part[0], part[1]), larger(part[2], part[3])), [](auto a, auto b) { return a > b ? a : b; });
    }
};
template <class T> inline __attribute__((always_inline)) wide<T> most(const T* x, int64_t n) {
    using W = wide<T>;
    Most<W> found;
    over<W>(n, [&](int64_t i, auto part, int k) { found.add(load(x + i, part, -std::numeric_limits<W>::infinity()), k); });
    return found.total();
}


// as an element of T holds it
template <class T> inline vec<wide<T>> rounded(vec<wide<T>> v) {
    if (sizeof(T) == sizeof(wide<T>)) return v;
    T some[lanes<wide<T>>];
    store(some, v, All{});
    return load(some, All{});
}

// Sums of columns over many rows, of each thread: those of the last rows in W, all before in double
template <class W> struct Columns {
    int64_t d, threads;
    std::vector<W> near;
    std::vector<double> far;
    std::vector<int64_t> rows;
    Columns(int threads_, int64_t d_) : d(d_), threads(threads_), near(size_t(threads_) * d_), far(size_t(threads_) * d_), rows(8 * threads_) {}
    W* next(int me) {  // where this thread adds its next row
        if (++rows[8 * me] % 32 == 0) fold(me);  // a cache line a thread
        return near.data() + me * d;
    }
    void fold(int me) {
        W* from = near.data() + me * d;
        double* to = far.data() + me * d;
#pragma omp simd
        for (int64_t i = 0; i < d; i++) { to[i] += double(from[i]); from[i] = W(0); }
    }
    template <class T> void put(T* sums) {
        for (int64_t t = 0; t < threads; t++) fold(int(t));
        for (int64_t i = 0; i < d; i++) {
            double sum = 0;
            for (int64_t t = 0; t < threads; t++) sum += far[t * d + i];
            store(sums + i, W(sum));
        }
    }
};

// -- functions ------------------------------------------------------------------------------------------------------------------------

// exp of what is at most 88 (or NaN): 2^n times a polynomial (minimax of degree 6, 3e-9) within 0.7 units of the last place; 0 far below
inline vec<float> exp_below(vec<float> x) {
#if defined(__AVX512F__)
    const vec<float> least = all(-110.0f);
#else
    const vec<float> least = all(-87.3f);
#endif
    vec<float> bounded = larger(least, x);
    vec<float> shifted = bounded * 1.44269504088896341f + 12582912.0f;  // 1.5 · 2^23: the whole number stands in the last bits
    vec<float> n = shifted - 12582912.0f;
    vec<float> r = bounded - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    vec<float> p = all(1.3814320555e-3f);
    p = p * r + 8.3688516170e-3f;
    p = p * r + 4.1668400168e-2f;
    p = p * r + 1.6666519642e-1f;
    p = p * r + 4.9999994040e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
#if defined(__AVX512F__)
    return (vec<float>)_mm512_scalef_ps((__m512)p, (__m512)n);  // with what is below the normal numbers
#else
    vec<float> v = (vec<float>)((vec<int32_t>)p + ((vec<int32_t>)shifted << 23));
    return x < least ? vec<float>{} : v;
#endif
}
inline vec<float> exp_(vec<float> x) {
    const vec<float> most = all(88.72283f);
    // p is below 1 where n is 128, so the exponent still fits
    vec<float> v = exp_below(x > most ? most : x);
    return x > most ? all(std::numeric_limits<float>::infinity()) : v;
}
inline vec<double> exp_(vec<double> x) {
    for (int i = 0; i < lanes<double>; i++) x[i] = std::exp(x[i]);
    return x;
}
inline vec<double> exp_below(vec<double> x) { return exp_(x); }

// log of normal numbers above 0 (Cephes, S. Moshier)
inline vec<float> log_(vec<float> x) {
    vec<int32_t> bits = (vec<int32_t>)x, e = (bits - 0x3f3504f3) >> 23;
    vec<float> r = (vec<float>)(bits - (e << 23)) - 1.0f, n = __builtin_convertvector(e, vec<float>), z = r * r;
    vec<float> p = all(7.0376836292e-2f);
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    vec<float> y = p * (r * z) - n * 2.12194440e-4f;
    return (r + (y - z * 0.5f)) + n * 0.693359375f;
}
inline vec<double> log_(vec<double> x) {
    for (int i = 0; i < lanes<double>; i++) x[i] = std::log(x[i]);
    return x;
}

// 1 / (1 + e) with e = exp(-x), and e / (1 + e), which 1 minus the other would round away
template <class W> struct Sigmoid { vec<W> value, rest; };
template <class W> inline Sigmoid<W> sigmoid_(vec<W> x) {
    vec<W> e = exp_below(-larger(all(W(-88)), x)), value = W(1) / (W(1) + e);
    return {value, e * value};
}


// -- softmax of a row -----------------------------------------------------------------------------------------------------------------

template <class W> struct Exponentials { W top, sum; };  // the largest, and Σ exp(x − largest)

template <class T> inline __attribute__((always_inline)) Exponentials<wide<T>> exponentials(const T* row, int64_t n) {
    using W = wide<T>;
    W top = most(row, n);
    Sum<W> sum;
    over<W>(n, [&](int64_t i, auto part, int k) { sum.add(exp_below(load(row + i, part, -std::numeric_limits<W>::infinity()) - top), k); });
    return {top, sum.total()};
}

// log Σ exp(x), of infinities, too
template <class T> inline wide<T> log_sum(Exponentials<wide<T>> found, const T* row, int64_t n) {
    using W = wide<T>;
    if (std::isfinite(found.top)) return found.top + std::log(found.sum);
    for (int64_t i = 0; i < n; i++) if (W(load(row + i)) != W(load(row + i))) return load(row + i);
    return found.top;
}

// y = scale · exp(x − top)
template <class T> inline __attribute__((always_inline)) void put_softmax(const T* x, T* y, int64_t n, wide<T> top, wide<T> scale) {
    over<wide<T>>(n, [&](int64_t i, auto part, int) { store(y + i, exp_below(load(x + i, part, top) - top) * scale, part); });
}

}  // namespace rows
