"""gelu(gate) · up, the tanh form of GELU in plain torch. Needs torch."""

import torch
from torch import Tensor


def geglu(gate: Tensor, up: Tensor) -> Tensor:
    """gate, up (…, D) → (…, D)."""
    return torch.nn.functional.gelu(gate, approximate="tanh") * up
