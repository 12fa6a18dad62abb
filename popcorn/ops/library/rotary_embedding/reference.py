"""Rotary position embedding from positions in plain torch. Angles are made in float64: a float32 product is off by 0.008 at position 131,072. Needs torch."""

import torch
from torch import Tensor


def rotary_embedding(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Tensor:
    """x (B, H, T, K), K even, positions (B, T) of whole numbers → (B, H, T, K)."""
    half = x.shape[-1] // 2
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    rates = theta ** (-torch.arange(half, device=x.device, dtype=torch.float64) / half)
    angle = positions[:, None, :, None].to(torch.float64) * rates
    cosine, sine = angle.cos().to(wide), angle.sin().to(wide)
    first, second = x[..., :half].to(wide), x[..., half:].to(wide)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1).to(x.dtype)
