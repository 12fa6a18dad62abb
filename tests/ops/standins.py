"""Modules with the names and signatures of other people's packages, which compute in plain torch on a CPU and take only what theirs take.

Read from the sources of fla-core 0.6.0, quack-kernels 0.6.5, transformer-engine 2.20.2 and FlashAttention-3's flash_attn_interface. What a call
of ours leaves to a default keeps that default here, so that one which is not the reference's shows.
"""

import itertools

import torch
from torch import Tensor
from torch.nn import functional as F


class Fla:
    """fla-core."""

    @staticmethod
    def rms_norm(x, weight, bias, residual=None, eps=1e-5, prenorm=False, residual_in_fp32=False):
        assert (bias, residual, prenorm) == (None, None, False) and x.is_contiguous()
        return F.rms_norm(x, weight.shape, weight, eps)

    @staticmethod
    def layer_norm(x, weight, bias, residual=None, eps=1e-5, prenorm=False, residual_in_fp32=False, is_rms_norm=False):
        assert (residual, prenorm, is_rms_norm) == (None, False, False) and x.is_contiguous()
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    @staticmethod
    def swiglu(x, y):
        return F.silu(x) * y

    @staticmethod
    def l2norm(x, eps=1e-6, output_dtype=None):
        return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + eps)

    @staticmethod
    def chunk_linear_attn(q, k, v, scale=None, initial_state=None, output_final_state=False, normalize=True, cu_seqlens=None):
        made, state = Fla.chunk_gla(q, k, v, torch.zeros_like(k))
        weight = (q * q.shape[-1] ** -0.5 * k.cumsum(1)).sum(-1, keepdim=True) + 1e-10
        return (made / weight if normalize else made), state

    @staticmethod
    def chunk_gla(
        q, k, v, g, scale=None, initial_state=None, output_final_state=False, state_v_first=False, cu_seqlens=None, cu_seqlens_cpu=None
    ):
        assert q.shape == k.shape == g.shape and v.shape == (*q.shape[:3], v.shape[-1])
        state, made = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3]), []
        for t in range(q.shape[1]):
            state = state * g[:, t].exp()[..., None] + k[:, t][..., None] * v[:, t][..., None, :]
            made.append((q[:, t][..., None] * state).sum(-2))
        return torch.stack(made, 1) * q.shape[-1] ** -0.5, None

    @staticmethod
    def chunk_gated_delta_rule(
        q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
        use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, state_v_first=False, cu_seqlens=None,
    ):  # fmt: skip
        assert q.shape == k.shape and g.shape == beta.shape == v.shape[:3] and not use_qk_l2norm_in_kernel
        state, made = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3]), []
        for t in range(q.shape[1]):
            state = state * g[:, t].exp()[..., None, None]
            new = (v[:, t] - (k[:, t][..., None] * state).sum(-2)) * beta[:, t][..., None]
            state = state + k[:, t][..., None] * new[..., None, :]
            made.append((q[:, t][..., None] * state).sum(-2))
        return torch.stack(made, 1) * q.shape[-1] ** -0.5, None

    @staticmethod
    def causal_conv1d(
        x, weight=None, bias=None, residual=None, initial_state=None, output_final_state=False, activation=None, backend="triton"
    ):
        assert x.shape[2] == weight.shape[0] == bias.shape[0] and activation in (None, "silu", "swish")
        padded = F.pad(x, (0, 0, weight.shape[1] - 1, 0))
        made = sum(padded[:, w : w + x.shape[1]] * weight[:, w] for w in range(weight.shape[1])) + bias
        return (F.silu(made) if activation else made), None

    @staticmethod
    def cross_entropy_loss(
        logits, target, label_smoothing=0.0, logit_scale=1.0, lse_square_scale=0.0, logit_softcapping=None, ignore_index=-100,
        inplace_backward=False, process_group=None,
    ):  # fmt: skip
        assert logits.dim() == 2 and target.dim() == 1
        losses = F.cross_entropy(logits.float(), target, reduction="none", ignore_index=ignore_index)
        return losses, torch.zeros_like(losses)

    @staticmethod
    def fused_linear_cross_entropy_loss(x, target, weight, bias=None, ignore_index=-100, label_smoothing=0.0, logit_scale=1.0):
        assert x.dim() == 2 and target.dim() == 1 and weight.shape[1] == x.shape[1]
        losses = F.cross_entropy(F.linear(x, weight, bias).float(), target, reduction="sum", ignore_index=ignore_index)
        return losses / (target != ignore_index).sum().clamp_min(1)


class _Strict(torch.autograd.Function):
    """A gradient that its kernel takes only contiguous."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        assert gradient.is_contiguous(), "the kernel reads its gradient as it comes"
        return gradient


class Quack:
    """quack-kernels."""

    @staticmethod
    def rmsnorm(x, weight=None, bias=None, residual=None, out_dtype=None, residual_dtype=None, eps=1e-6, prenorm=False, weight_offset=0.0):
        assert bias is None and residual is None and x.is_contiguous()
        return F.rms_norm(x, weight.shape, weight, eps)

    @staticmethod
    def softmax(x):
        assert x.dim() == 2 and x.is_contiguous()
        return _Strict.apply(torch.softmax(x, -1))

    @staticmethod
    def cross_entropy(x, target, lse_partial=None, weight=None, ignore_index=-100, reduction="mean", inplace_backward=False):
        assert x.dim() == 2 and target.dim() == 1 and lse_partial is None and weight is None
        losses = _Strict.apply(F.cross_entropy(x.float(), target, reduction="none", ignore_index=ignore_index))
        return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / (target != ignore_index).sum()}[reduction]

    @staticmethod
    def layernorm_fwd(x, weight, bias=None, eps=1e-6, return_rstd=False, return_mean=False):
        assert x.dim() == 2 and weight.dtype == bias.dtype == torch.float32
        return F.layer_norm(x.float(), weight.shape, weight, bias, eps).to(x.dtype)


class Te:
    """transformer-engine."""

    @staticmethod
    def parallel_cross_entropy(
        inp, target, label_smoothing=0.0, reduce_loss=False, dist_process_group=None, ignore_idx=-100, is_cg_capturable=False, *,
        overwrite_input=False, _input=None,
    ):  # fmt: skip
        assert inp.ndim == 3 and target.numel() == inp.shape[0] * inp.shape[1] and target.dtype == torch.int64
        assert inp.dtype in (torch.bfloat16, torch.float32)
        losses = F.cross_entropy(inp.float().flatten(0, 1), target.flatten(), reduction="none", ignore_index=ignore_idx)
        return losses.sum() / (target != ignore_idx).sum().clamp_min(1) if reduce_loss else losses.reshape(inp.shape[:2])


def _attend(q: Tensor, k: Tensor, v: Tensor, scale: float | None, causal: bool) -> Tensor:
    """(T, H, K), (S, G, K): heads after positions; causal to the bottom right."""
    group = q.shape[1] // k.shape[1]
    keys, values = (t.repeat_interleave(group, 1) for t in (k, v))
    scores = torch.einsum("thk,shk->hts", q, keys) * (scale or q.shape[-1] ** -0.5)
    if causal:
        later = torch.ones(q.shape[0], k.shape[0], dtype=torch.bool).triu(1 + k.shape[0] - q.shape[0])
        scores = scores.masked_fill(later, float("-inf"))
    return torch.einsum("hts,shk->thk", scores.softmax(-1), values)


class Fa3:
    """flash_attn_interface. `tuples`: as its betas answered."""

    tuples = False

    @staticmethod
    def flash_attn_func(q, k, v, softmax_scale=None, causal=False, qv=None):
        assert all(t.stride(-1) == 1 and t.dim() == 4 for t in (q, k, v)) and k.shape[1] == q.shape[1]
        made = torch.stack([_attend(*one, softmax_scale, causal) for one in zip(q, k, v, strict=True)])
        return (made, None) if Fa3.tuples else made

    @staticmethod
    def flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, seqused_q=None, seqused_k=None, softmax_scale=None, causal=False
    ):
        assert cu_seqlens_q.dtype == cu_seqlens_k.dtype == torch.int32
        cuts = cu_seqlens_q.tolist()
        assert max_seqlen_q == max_seqlen_k == max(b - a for a, b in itertools.pairwise(cuts))
        return torch.cat([_attend(q[a:b], k[a:b], v[a:b], softmax_scale, causal) for a, b in itertools.pairwise(cuts)])

    @staticmethod
    def flash_attn_with_kvcache(
        q, k_cache, v_cache, k=None, v=None, qv=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, cache_batch_idx=None,
        cache_leftpad=None, page_table=None, cu_seqlens_q=None, cu_seqlens_k_new=None, max_seqlen_q=None, rotary_seqlens=None,
        q_descale=None, k_descale=None, v_descale=None, softmax_scale=None, causal=False,
    ):  # fmt: skip
        assert q.dim() == 4 and page_table.dtype == cache_seqlens.dtype == torch.int32 and k_cache.stride(-1) == v_cache.stride(-1) == 1
        made = []
        for one, pages, length in zip(q, page_table.long(), cache_seqlens.tolist(), strict=True):
            keys, values = (cache[pages].flatten(0, 1)[:length] for cache in (k_cache, v_cache))
            made.append(_attend(one, keys, values, softmax_scale, causal))
        return torch.stack(made)


MODULES = {
    "fla": {},
    "fla.modules": {},
    "fla.modules.layernorm": {"rms_norm": Fla.rms_norm, "layer_norm": Fla.layer_norm},
    "fla.modules.activations": {"swiglu": Fla.swiglu},
    "fla.modules.l2norm": {"l2norm": Fla.l2norm},
    "fla.modules.causal_conv1d": {"causal_conv1d": Fla.causal_conv1d},
    "fla.modules.fused_cross_entropy": {"cross_entropy_loss": Fla.cross_entropy_loss},
    "fla.modules.fused_linear_cross_entropy": {"fused_linear_cross_entropy_loss": Fla.fused_linear_cross_entropy_loss},
    "fla.ops": {},
    "fla.ops.linear_attn": {"chunk_linear_attn": Fla.chunk_linear_attn},
    "fla.ops.gla": {"chunk_gla": Fla.chunk_gla},
    "fla.ops.gated_delta_rule": {"chunk_gated_delta_rule": Fla.chunk_gated_delta_rule},
    "quack": {"rmsnorm": Quack.rmsnorm, "softmax": Quack.softmax, "cross_entropy": Quack.cross_entropy},
    "quack.rmsnorm": {"layernorm_fwd": Quack.layernorm_fwd},
    "transformer_engine": {},
    "transformer_engine.pytorch": {"parallel_cross_entropy": Te.parallel_cross_entropy},
    "flash_attn_interface": {name: getattr(Fa3, name) for name in ("flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache")},
}
"""Module → what it holds."""
