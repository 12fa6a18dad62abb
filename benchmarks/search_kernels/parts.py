"""What the mutators may put into the three kernels, a step at a time: a part goes to the text before or after its own in STEPS, or to one of
WRONG (wrong or broken), as an edit of a proposer would. The first text of a part is the one in the kernel's file."""

from pathlib import Path


def first(kernel: str, part: str) -> str:
    """The text of a part as the file has it."""
    text = (Path(__file__).parent / f"{kernel}.c").read_text()
    return text.split(f"popcorn: begin {part}\n")[1].rsplit("\n", 1)[0].split(f"// popcorn: end {part}")[0].rstrip(" ")


EXP = """static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = __builtin_rintf(x * 1.44269504f), r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { int32_t bits; float value; } power = {((int32_t)n + 127) << 23};
    return p * power.value;
}"""
IKJ = """    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) c[i * m + j] = 0;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }"""
TILED = """    for (int64_t i = 0; i < n * m; i++) c[i] = 0;
    for (int64_t l0 = 0; l0 < k; l0 += TILE)
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = l0; l < (l0 + TILE < k ? l0 + TILE : k); l++)
                for (int64_t j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];"""
ROWS = """    for (int64_t i = 0; i < n * m; i++) c[i] = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int64_t l = 0; l < k; l++) {
            const float a0 = a[i * k + l], a1 = a[(i + 1) * k + l], a2 = a[(i + 2) * k + l], a3 = a[(i + 3) * k + l];
#pragma omp simd
            for (int64_t j = 0; j < m; j++) {
                const float v = b[l * m + j];
                c[i * m + j] += a0 * v; c[(i + 1) * m + j] += a1 * v; c[(i + 2) * m + j] += a2 * v; c[(i + 3) * m + j] += a3 * v;
            }
        }
    for (; i < n; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];"""

STEPS = {
    "chain": {
        "product": [
            first("chain", "product"),
            IKJ,
            TILED,
            ROWS,
        ],
        "chain": [
            first("chain", "chain"),
            """    float* first = malloc(k * p * sizeof(float));
    product(b, c, first, k, m, p);
    product(a, first, result, n, k, p);""",
        ],
    },
    "softmax": {
        "exponential": [
            first("softmax", "exponential"),
            """static inline float exponential(float x) { return expf(x); }""",
            EXP,
        ],
        "passes": [
            first("softmax", "passes"),
            """        for (int64_t j = 0; j < size; j++) { result[j] = row[j] * 0.5f + bias[j]; largest = result[j] > largest ? result[j] : largest; }
        for (int64_t j = 0; j < size; j++) { result[j] = exponential(result[j] - largest); sum += result[j]; }
        for (int64_t j = 0; j < size; j++) result[j] /= sum;""",
            """#pragma omp simd reduction(max : largest)
        for (int64_t j = 0; j < size; j++) { result[j] = row[j] * 0.5f + bias[j]; largest = result[j] > largest ? result[j] : largest; }
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < size; j++) { result[j] = exponential(result[j] - largest); sum += result[j]; }
        const float scale = 1.0f / sum;
        for (int64_t j = 0; j < size; j++) result[j] *= scale;""",
        ],
    },
    "stencil": {
        "number": [
            first("stencil", "number"),
            """typedef float number;""",
        ],
        "sweep": [
            first("stencil", "sweep"),
            """    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            number left = from[i * w + (j + w - 1) % w], right = from[i * w + (j + 1) % w];
            number up = from[((i + h - 1) % h) * w + j], down = from[((i + 1) % h) * w + j];
            to[i * w + j] = (float)(0.5 * from[i * w + j] + 0.125 * (left + right + up + down));
        }""",
            """    for (int64_t j0 = 0; j0 < w; j0 += TILE)
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = j0; j < (j0 + TILE < w ? j0 + TILE : w); j++) {
                number left = from[i * w + (j ? j - 1 : w - 1)], right = from[i * w + (j + 1 < w ? j + 1 : 0)];
                number up = from[(i ? i - 1 : h - 1) * w + j], down = from[(i + 1 < h ? i + 1 : 0) * w + j];
                to[i * w + j] = (float)(0.5 * from[i * w + j] + 0.125 * (left + right + up + down));
            }""",
            """    for (int64_t i = 0; i < h; i++) {
        const float *row = from + i * w, *above = from + ((i + h - 1) % h) * w, *below = from + ((i + 1) % h) * w;
        float* result = to + i * w;
        result[0] = (float)(0.5 * row[0] + 0.125 * ((number)row[w - 1] + row[1] + above[0] + below[0]));
        for (int64_t j = 1; j < w - 1; j++) result[j] = (number)0.5 * row[j] + (number)0.125 * ((number)row[j - 1] + row[j + 1] + above[j] + below[j]);
        result[w - 1] = (float)(0.5 * row[w - 1] + 0.125 * ((number)row[w - 2] + row[0] + above[w - 1] + below[w - 1]));
    }""",
        ],
    },
}

WRONG = {
    "chain": {
        "product": [
            """    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) c[i * m + j] = 0;
        for (int64_t l = 0; l < k - 1; l++)
            for (int64_t j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }""",
            """    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) c[i * m + j] = ;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }""",
            """    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) sum += (double)a[i * k + l] * b[l * m + j];
            c[i * m + j] = (float)sum;
        }""",
        ],
        "chain": [
            """    float* first = malloc(n * m * sizeof(float));
    product(a, b, first, n, k, m);
    product(first, b, result, n, m, p);""",
        ],
    },
    "softmax": {
        "exponential": [
            """static inline float exponential(float x) { return 1.0f + x; }""",
        ],
        "passes": [
            """        for (int64_t j = 0; j < size; j++) { result[j] = exponential(row[j] * 0.5f + bias[j]); sum += result[j]; }
        for (int64_t j = 0; j < size; j++) result[j] /= sum;""",
            """        for (int64_t j = 0; j < size; j++) result[j] = row[j] * 0.5f + bias[j]
        return 0;""",
        ],
    },
    "stencil": {
        "number": [
            """typedef long double number;""",
        ],
        "sweep": [
            """    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++)
            to[i * w + j] = 0.5f * from[i * w + j] + 0.125f * (from[i * w + j - 1] + from[i * w + j + 1] + from[(i - 1) * w + j] + from[(i + 1) * w + j]);""",
        ],
    },
}
"""Problem → part → texts."""
