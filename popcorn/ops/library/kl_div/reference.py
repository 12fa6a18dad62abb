"""Kullback-Leibler divergence of logs of probabilities in plain torch. Needs torch."""

import torch
from torch import Tensor


def kl_div(log_q: Tensor, log_p: Tensor) -> Tensor:
    """log_q (of the model), log_p (of the target), (…, V) → a scalar."""
    rows = log_q.reshape(-1, log_q.shape[-1])
    return torch.nn.functional.kl_div(rows, log_p.reshape(rows.shape), reduction="batchmean", log_target=True)
