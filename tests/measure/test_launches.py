"""Counting of launches."""

import pytest
import torch

from popcorn.measure.launches import count_launches, is_library


def test_operators_are_counted_and_views_are_not():
    x = torch.randn(8, 8)
    launches = count_launches(lambda: (x.t().reshape(64)[:4] * 2).relu().sum(), "cpu")
    assert launches.kernels == 3 and launches.source == "dispatch"
    assert {row.name for row in launches.breakdown} == {"aten::mul", "aten::relu", "aten::sum"}
    assert launches.copies == 1, "reshape of a transposed view copies"
    assert all(row.library and row.time_s > 0 for row in launches.breakdown)


def test_a_fused_operator_counts_once_and_its_composite_by_parts():
    x, w = torch.randn(4, 16), torch.randn(16)
    fused = count_launches(lambda: torch.nn.functional.layer_norm(x, (16,), w), "cpu")
    parts = count_launches(lambda: (x - x.mean(-1, keepdim=True)) / x.var(-1, keepdim=True, correction=0).add(1e-5).sqrt() * w, "cpu")
    assert fused.kernels == 1 and parts.kernels >= 6


def test_copies_and_fills_stand_apart():
    x = torch.randn(8)
    launches = count_launches(lambda: torch.zeros(8).copy_(x).add(1), "cpu")
    assert launches.kernels == 1 and launches.copies >= 1


def test_backward_is_counted_too():
    w = torch.randn(8, 8, requires_grad=True)
    x = torch.randn(4, 8)
    forward = count_launches(lambda: (x @ w).sum(), "cpu").kernels
    assert count_launches(lambda: torch.autograd.grad((x @ w).sum(), w), "cpu").kernels > forward


def test_work_outside_torch_is_unknown_not_zero():
    launches = count_launches(lambda: sum(range(100)), "cpu")
    assert launches.kernels is None and "outside torch" in launches.reason


def test_the_breakdown_holds_at_most_ten_and_adds_up_launches():
    x = torch.randn(4)
    ops = [
        torch.sin,
        torch.cos,
        torch.exp,
        torch.tanh,
        torch.sigmoid,
        torch.abs,
        torch.neg,
        torch.sqrt,
        torch.rsqrt,
        torch.log,
        torch.erf,
        torch.erf,
    ]
    launches = count_launches(lambda: [op(x) for op in ops], "cpu")
    assert launches.kernels == 12 and len(launches.breakdown) == 10
    times = [row.time_s for row in launches.breakdown]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, ...)",
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "ampere_sgemm_128x64_nn",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8>(Params)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>(...)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void gemv2T_kernel_val<int, int, float, float>(...)",
        "void cublasLt::splitKreduce_kernel<32, 16, int>(...)",
        "void splitKreduce_kernel<32, 16>(...)",
        "void pytorch_flash::flash_fwd_kernel<...>(...)",
        "triton_poi_fused_add_mul_0",
        "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 10>(c10::BFloat16*)",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(cublasGemvParamsEx)",
    ],
)
def test_a_librarys_kernel_is_told_by_its_owner(name):
    assert is_library(name)


@pytest.mark.parametrize(
    "name",
    [
        "my_kernel(float*, int)",
        "_fwd_kernel",
        "rms_norm_triton",
        "void flat::native(int)",
        "void rms_norm<c10::BFloat16>(c10::BFloat16 const*, at::native::x)",
        "void softmax_kernel<256>(float*)",
        "void cutlass::device_kernel<MyGemm>(Params)",
        "triton_softmax",
        "gemm_tiled(float*)",
        "combat::native",
        "",
    ],
)
def test_ones_own_kernel_is_not_a_librarys(name):
    assert not is_library(name)


@pytest.mark.gpu
def test_device_kernels_are_counted_not_operators():
    x = torch.randn(1024, 1024, device="cuda")
    launches = count_launches(lambda: (x * 2).relu_(), "cuda")
    assert launches.kernels == 2 and launches.copies == 0 and launches.source == "cupti"
    assert launches.custom_share == 0 and launches.device_time_s > 0
    copied = count_launches(lambda: x.clone(), "cuda")
    assert copied.kernels == 0 and copied.copies == 1
