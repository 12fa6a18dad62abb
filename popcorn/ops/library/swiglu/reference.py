"""silu(gate) · up in plain torch. Needs torch."""

import torch
from torch import Tensor


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """gate, up (…, D) → (…, D)."""
    return torch.nn.functional.silu(gate) * up
