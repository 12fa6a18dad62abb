"""Generalised Jensen-Shannon divergence in plain torch. Needs torch."""

import torch
from torch import Tensor


def jsd(log_q: Tensor, log_p: Tensor, beta: float = 0.5) -> Tensor:
    """log_q (of the model), log_p (of the target), (…, V), finite; 0 < beta < 1 → a scalar."""
    q, p = log_q.exp(), log_p.exp()
    log_m = (beta * p + (1 - beta) * q).clamp_min(torch.finfo(q.dtype).tiny).log()
    rows = log_q.numel() // log_q.shape[-1]
    return (beta * p * (log_p - log_m) + (1 - beta) * q * (log_q - log_m)).sum() / rows
