"""A matrix product in plain torch. Needs torch."""

from torch import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a (…, K), b (K, N) → (…, N)."""
    return a @ b
