"""On a GPU neither the host's time nor the events' own is part of a call's."""

import time

import pytest

from popcorn.measure.timing import _in_time, make_timer

CYCLES = 20_000
"""About 10 µs each, at 2 GHz."""
HOST_S = 60e-6


def test_samples_that_the_device_waited_for_are_left_out_unless_most_are():
    assert _in_time([1.0, 9.0, 1.1], [False, True, False]) == [1.0, 1.1]
    assert _in_time([8.0, 9.0, 1.0], [True, True, False]) == [8.0, 9.0, 1.0]
    assert _in_time([8.0], [True]) == [8.0]


@pytest.fixture
def timer():
    return make_timer("cuda", 50 << 20)


def dawdling():
    """Two kernels, and more of the host's time between them than either takes."""
    import torch

    torch.cuda._sleep(CYCLES)
    end = time.perf_counter() + HOST_S
    while time.perf_counter() < end:
        pass
    torch.cuda._sleep(CYCLES)


@pytest.mark.gpu
def test_no_time_of_the_host_lies_between_the_kernels_of_a_call(timer):
    times = [timer.time([[dawdling]] * 10, lambda index, result: None) for _ in range(3)]
    device_s = 2 * CYCLES / 1.98e9
    assert sorted(times[-1])[len(times[-1]) // 2] < device_s + 0.6 * HOST_S


@pytest.mark.gpu
def test_a_warm_call_is_told_without_the_hosts_time_which_stands_beside(timer):
    warm = timer.time_warm(dawdling, 0.05)
    assert warm.time_s < 2 * CYCLES / 1.98e9 + 0.6 * HOST_S and warm.host_s > HOST_S


@pytest.mark.gpu
def test_a_short_kernel_takes_what_it_adds_to_a_stream_of_kernels(timer):
    import torch

    x = torch.ones(4096, device="cuda")

    def took_s(count):
        times = [timer.time([[lambda: [x.mul_(1.0) for _ in range(count)]]] * 41, lambda index, result: None) for _ in range(3)][-1]
        return sorted(times)[len(times) // 2]

    one_s, many_s = took_s(1), took_s(21)
    assert one_s == pytest.approx((many_s - one_s) / 20, abs=0.5e-6)
    assert 1e-6 < timer.bubble_s < 4e-6
