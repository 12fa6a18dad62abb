"""Memory of calls whose needs are known."""

import ctypes

import pytest
import torch

from popcorn.measure.memory import measure_memory

MB = 10**6


def test_outputs_and_workspace_are_exact_for_torch_code():
    x = torch.ones(1000, 1000)
    memory = measure_memory(lambda: (x * 2 + 1).sum(), "cpu", inputs=[x])
    assert memory.output_bytes == 4
    assert memory.peak_bytes == pytest.approx(8 * MB, rel=0.01), "both intermediates are alive at once"
    assert memory.workspace_bytes == memory.peak_bytes - 4 and memory.reason is None


def test_a_tiny_call_is_not_drowned_in_pages():
    x = torch.ones(16)
    memory = measure_memory(lambda: x.exp(), "cpu", inputs=[x])
    assert memory.peak_bytes == memory.output_bytes == 64 and memory.workspace_bytes == 0


def test_what_was_resident_before_does_not_count():
    ballast = torch.ones(20 * MB)
    x = torch.ones(1000)
    memory = measure_memory(lambda: x.exp(), "cpu", inputs=[x, ballast])
    assert memory.peak_bytes == pytest.approx(4000, abs=512)


def test_freed_heap_does_not_hide_a_workspace():
    junk = [torch.ones(100_000) for _ in range(200)]
    del junk
    x = torch.ones(5 * MB)
    memory = measure_memory(lambda: (x + 1).mean(), "cpu", inputs=[x])
    assert memory.peak_bytes == pytest.approx(20 * MB, rel=0.02)


def test_outputs_count_by_storage_once_and_never_an_input():
    x = torch.ones(1000)

    def call():
        y = x + 1
        return {"y": y, "view": y[10:], "twice": [y.view(10, 100)], "input": x, "input view": x[:5], "n": 3}

    assert measure_memory(call, "cpu", inputs=[x]).output_bytes == 4000


def test_a_workspace_kept_between_calls_still_counts():
    kept = []
    x = torch.ones(1000)

    def call():
        if not kept:
            kept.append(torch.ones(2 * MB))
        return x + kept[0][:1000]

    memory = measure_memory(call, "cpu", inputs=[x])
    assert memory.peak_bytes >= 8 * MB


def test_memory_that_native_code_takes_for_itself_is_seen():
    x = torch.ones(10)

    def call_with_malloc():
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        pointer = libc.malloc(ctypes.c_size_t(64 * MB))
        ctypes.memset(pointer, 1, 64 * MB)
        libc.free(ctypes.c_void_p(pointer))
        return x + 1

    assert measure_memory(call_with_malloc, "cpu", inputs=[x]).peak_bytes == pytest.approx(64 * MB, rel=0.05)


def test_saved_bytes_are_what_the_backward_pass_needs():
    x = torch.ones(1000, 100, requires_grad=True)

    def forward():
        return x.exp().sin().sum()

    memory = measure_memory(lambda: torch.autograd.grad(forward(), x), "cpu", inputs=[x], forward=forward)
    assert memory.saved_bytes == pytest.approx(400_000, rel=0.02), "exp keeps its result, which sin needs too"
    assert memory.output_bytes == 400_000


def test_without_a_forward_saved_bytes_are_unknown():
    assert measure_memory(lambda: torch.ones(3), "cpu").saved_bytes is None


def test_a_failing_call_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        measure_memory(lambda: 1 // 0, "cpu")


@pytest.mark.gpu
def test_gpu_peaks_are_exact():
    x = torch.ones(1000, 1000, device="cuda")
    memory = measure_memory(lambda: (x * 2 + 1).sum(), "cuda", inputs=[x])
    assert memory.output_bytes == 4
    assert memory.peak_bytes == pytest.approx(8 * MB, rel=0.01)
    assert measure_memory(lambda: x + 1, "cuda", inputs=[x]).workspace_bytes == 0


@pytest.mark.gpu
def test_gpu_saved_bytes():
    x = torch.ones(1000, 100, device="cuda", requires_grad=True)
    memory = measure_memory(lambda: torch.autograd.grad(x.exp().sum(), x), "cuda", inputs=[x], forward=lambda: x.exp().sin().sum())
    assert memory.saved_bytes == pytest.approx(400_000, rel=0.02)
