"""A new op of the library, as four files that work as they are: to be changed piece by piece. Imports without torch.

The op that they hold is weight · max(x, 0)² over rows, in torch and in C++, forward and backward: one input of rows, one weight, one output.
"""

import keyword
import re
from pathlib import Path

from popcorn.errors import PopcornError, UnwritableStore
from popcorn.ops.registry import LIBRARY, list_ops

_INIT = '''"""{name}: x (…, D), weight (D) → weight · max(x, 0)²."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

{name} = Op(
    "{name}",
    {{"x": "... D", "weight": "D"}},
    out="... D",
    flops=lambda R, D: 3 * R * D,
    min_bytes=lambda R, D, itemsize: (2 * R * D + D) * itemsize,
    plan=NORM,
)
'''
_REFERENCE = '''"""{name} in plain torch: what is right. Needs torch."""

import torch
from torch import Tensor


def {name}(x: Tensor, weight: Tensor) -> Tensor:
    """x (…, D), weight (D) → (…, D)."""
    return torch.relu(x).square() * weight
'''
_IMPL = '''"""{name} in C++: each row is read and written once. Needs torch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from popcorn.ops.native import native

LANGUAGE = "cpp"

_call, accepts, SOURCE, traced = native(Path(__file__).with_name("{name}.cpp"), lambda x, weight: [(x.shape, x.dtype)])


def run(x: Tensor, weight: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight), ())
'''
_CPP = """// Inputs, outputs and gradients in the signature's order; rows, threads and exponentials are those of ops/include/popcorn_rows.h.
// Right first; once it is, the vectors of popcorn_vectors.h make it fast (rms_norm.cpp shows how).
int popcorn_forward(const popcorn_tensor* in, int, popcorn_tensor* out, int, const double* scalars, int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;  // computes at least in float32
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]);
        T* y = at<T>(out[0]);
        share(n, d, threads_of(scalars, n_scalars, 0), [&](int64_t first, int64_t end, int) {
            for (int64_t r = first; r < end; r++) {
#pragma omp simd
                for (int64_t i = 0; i < d; i++) {
                    W v = load(x + r * d + i);
                    v = v < 0 ? W(0) : v;  // NaN stays
                    store(y + r * d + i, v * v * W(load(weight + i)));
                }
            }
        });
    });
}

// dx = 2 max(x, 0) weight dy, dweight = Σ max(x, 0)² dy over rows, summed by each thread and then over threads
int popcorn_backward(const popcorn_tensor* in, int, const popcorn_tensor* dout, int, popcorn_tensor* grads, int, const double* scalars,
                     int n_scalars, void*) {
    int64_t n = leading(in[0]), d = last(in[0]);
    int threads = threads_of(scalars, n_scalars, 0);
    return by_type(in[0].dtype, [&](auto tag) {
        using T = decltype(tag);
        using W = wide<T>;
        const T *x = at<T>(in[0]), *weight = at<T>(in[1]), *dy = at<T>(dout[0]);
        T *dx = at<T>(grads[0]), *dweight = at<T>(grads[1]);
        std::vector<W> sums(size_t(threads) * d, W(0));
        share(n, d, threads, [&](int64_t first, int64_t end, int me) {
            W* mine = sums.data() + size_t(me) * d;
            for (int64_t r = first; r < end; r++) {
#pragma omp simd
                for (int64_t i = 0; i < d; i++) {
                    W v = load(x + r * d + i), g = load(dy + r * d + i);
                    v = v < 0 ? W(0) : v;
                    store(dx + r * d + i, 2 * v * W(load(weight + i)) * g);
                    mine[i] += v * v * g;
                }
            }
        });
        for (int64_t i = 0; i < d; i++) {
            W sum = 0;
            for (int t = 0; t < threads; t++) sum += sums[size_t(t) * d + i];
            store(dweight + i, sum);
        }
    });
}
"""


def start_op(name: str, library: Path = LIBRARY) -> list[Path]:
    """Write the folder of a new op and return its files, in reading order. Raises PopcornError for a name that is taken or none."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,40}", name) or keyword.iskeyword(name):
        raise PopcornError(
            f"an op cannot be called {name[:60]!r}; expected a small letter, then small letters, digits and '_', such as scaled_relu2."
        )
    folder = library / name
    if folder.exists() or name in list_ops():
        raise PopcornError(f"there is an op {name} already ({folder}); choose another name, or change its files.")
    texts = {"__init__.py": _INIT, "reference.py": _REFERENCE, "impl_popcorn.py": _IMPL}
    try:
        folder.mkdir()
        for file, text in texts.items():
            (folder / file).write_text(text.format(name=name), encoding="utf-8")
        (folder / f"{name}.cpp").write_text(_CPP, encoding="utf-8")
    except OSError as error:
        raise UnwritableStore(f"{folder} cannot be written ({error.strerror}); work in a checkout of your own.") from error
    return [folder / file for file in (*texts, f"{name}.cpp")]
