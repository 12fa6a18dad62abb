// Rows of floating numbers on a CPU: loads, stores, sums and exponentials that compilers turn into vectors, and threads over rows.
// Sums run in float32 (float64 for float64 data), whatever the element type.
#include "popcorn_kernel.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno,no-trapping-math")  // so that selections become vectors; no value changes
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
#include <omp.h>

namespace rows {

struct bf16 { uint16_t bits; };

template <class T> struct Wide { using type = float; };
template <> struct Wide<double> { using type = double; };
template <class T> using wide = typename Wide<T>::type;

inline double load(const double* p) { return *p; }
inline float load(const float* p) { return *p; }
inline void store(double* p, double v) { *p = v; }
inline void store(float* p, float v) { *p = v; }
inline float load(const bf16* p) {
    uint32_t bits = uint32_t(p->bits) << 16;
    float v;
    std::memcpy(&v, &bits, 4);
    return v;
}
inline void store(bf16* p, float v) {
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
    p->bits = uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}
#ifdef __FLT16_MANT_DIG__
inline float load(const _Float16* p) { return float(*p); }
inline void store(_Float16* p, float v) { *p = _Float16(v); }
#endif

// exp as 2^n times a polynomial (Cephes, S. Moshier), within 2 units of the last place; vectors, unlike the library's function.
inline float exp_(float x) {
    float bounded = x < -87.3f ? -87.3f : (x > 88.7f ? 88.7f : x);
    float n = std::nearbyint(bounded * 1.44269504088896341f);
    float r = bounded - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t power = (int32_t(n) + 127) << 23;  // n = 128 is infinity's exponent, reached above 88.37 only
    int32_t half = (int32_t(n) - 1 + 127) << 23;
    float scale;
    std::memcpy(&scale, n > 127.0f ? &half : &power, 4);
    float v = p * scale * (n > 127.0f ? 2.0f : 1.0f);
    v = x < -87.3f ? 0.0f : v;
    v = x > 88.72283f ? std::numeric_limits<float>::infinity() : v;
    return x != x ? x : v;
}
inline double exp_(double x) { return std::exp(x); }

inline float erf_(float x) { return std::erf(x); }
inline double erf_(double x) { return std::erf(x); }
template <class W> inline W sigmoid(W x) { return W(1) / (W(1) + exp_(-x)); }
template <class W> inline W tanh_(W x) { return W(1) - W(2) / (exp_(W(2) * x) + W(1)); }

template <class T, class W> inline W largest(const T* x, int64_t n) {
    W m = -std::numeric_limits<W>::infinity();
#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < n; i++) { W v = load(x + i); m = v > m ? v : m; }
    return m;
}

inline int threads_of(const double* scalars, int n, int expected) {
    return n > expected ? int(scalars[n - 1]) : omp_get_max_threads();
}

inline int64_t count(const popcorn_tensor& t) {
    int64_t n = 1;
    for (int i = 0; i < t.ndim; i++) n *= t.shape[i];
    return n;
}
inline int64_t last(const popcorn_tensor& t) { return t.ndim ? t.shape[t.ndim - 1] : 1; }
inline int64_t leading(const popcorn_tensor& t) { return last(t) ? count(t) / last(t) : 0; }

template <class T> inline T* at(const popcorn_tensor& t) { return static_cast<T*>(t.data); }

// act(tag of the element type): one function for every floating type of the interface.
template <class Act> int by_type(int dtype, Act act) {
    switch (dtype) {
        case POPCORN_FLOAT32: act(float{}); return 0;
        case POPCORN_FLOAT64: act(double{}); return 0;
        case POPCORN_BFLOAT16: act(bf16{}); return 0;
#ifdef __FLT16_MANT_DIG__
        case POPCORN_FLOAT16: act(_Float16{}); return 0;
#endif
        default: return 100 + dtype;
    }
}

// Rows in equal shares over threads; one thread where there is little to do. act(first row, last row, thread).
template <class Act> void share(int64_t n, int64_t width, int threads, Act act) {
    int wanted = n * width < 16384 ? 1 : threads;
    if (wanted > n) wanted = n > 0 ? int(n) : 1;
    if (wanted <= 1) { act(int64_t(0), n, 0); return; }
#pragma omp parallel num_threads(wanted)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        act(n * me / all, n * (me + 1) / all, me);
    }
}

}  // namespace rows
using namespace rows;
