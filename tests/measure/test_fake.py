"""The fakes themselves keep time and energy."""

import pytest

from popcorn.measure.fake import FakeClock, FakeDevice


def test_a_clock_moves_only_when_asked():
    clock = FakeClock(5.0, tick_s=0.1)
    assert clock() == pytest.approx(5.1) and clock() == pytest.approx(5.2)
    clock.sleep(1)
    assert clock() == pytest.approx(6.3)
    with pytest.raises(ValueError):
        clock.sleep(-1)


def test_work_on_a_side_stream_ends_late_when_only_one_stream_is_waited_for():
    device = FakeDevice(FakeClock())
    device.launch(1e-3)
    device.launch(5e-3, stream=1)
    device.synchronize(stream=0)
    assert device.clock.now_s == pytest.approx(1e-3) and device.late_s() == pytest.approx(4e-3)
    device.synchronize()
    assert device.clock.now_s == pytest.approx(5e-3) and device.late_s() == 0


def test_work_on_one_stream_waits_for_the_work_before_it_and_a_flush_costs():
    device = FakeDevice(FakeClock(), flush_s=1e-4)
    device.flush()
    assert device.launch(1e-3) == (pytest.approx(1e-4), pytest.approx(1.1e-3))


def test_energy_counts_overlapping_streams_once():
    device = FakeDevice(FakeClock(), idle_w=100, busy_w=500)
    device.launch(1.0)
    device.launch(1.0, stream=1)
    device.synchronize()
    device.clock.sleep(1.0)
    assert device.true_energy_j() == pytest.approx(500 + 100)


def test_the_counter_steps_and_lags():
    device = FakeDevice(FakeClock(), idle_w=100, busy_w=100, step_s=0.1, lag_s=0.05)
    device.clock.sleep(0.95)
    shown = device.read_j()
    assert shown == pytest.approx(85) and device.true_energy_j() == pytest.approx(95)
    device.clock.sleep(0.04)
    assert device.read_j() == shown, "no step yet"


def test_throttling_lengthens_work_issued_later():
    device = FakeDevice(FakeClock(), throttle_at_s=1.0, throttle_factor=2.0)
    start, end = device.launch(0.1)
    assert end - start == pytest.approx(0.1) and device.sm_clock_hz() == device.full_clock_hz
    device.clock.sleep(1.0)
    start, end = device.launch(0.1)
    assert end - start == pytest.approx(0.2) and device.sm_clock_hz() == device.full_clock_hz / 2
