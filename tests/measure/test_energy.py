"""Energy of a call, against a device whose true energy is known."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.measure.energy import NoMeter, RaplMeter, find_meter, measure_energy
from popcorn.measure.fake import FakeClock, FakeDevice
from popcorn.schema.machine import Machine


class Pending:
    """A burst on a fake device: done when its work is."""

    def __init__(self, device, calls, end_s):
        self.device, self.calls, self.end_s = device, calls, end_s

    def done(self):
        return self.device.clock.now_s >= self.end_s

    def result(self):
        self.device.clock.now_s = max(self.device.clock.now_s, self.end_s)
        return self.calls


def _burst(device, call_s):
    """Back-to-back calls on a fake device, and the true energy of what ran."""
    truth = {}

    def begin(seconds):
        calls = max(1, round(seconds / call_s))
        start_s, end_s = device.launch(call_s * calls)
        truth["j"] = (end_s - start_s) * device.busy_w / calls
        return Pending(device, calls, end_s)

    return begin, truth


@settings(max_examples=80, deadline=None)
@given(
    idle_w=st.floats(5, 200),
    extra_w=st.floats(1, 900),
    step_s=st.floats(0.001, 0.2),
    phase=st.floats(0, 1),
    lag=st.floats(0, 1),
    seconds=st.floats(0.3, 2.0),
    call_s=st.floats(1e-6, 0.3),
)
def test_the_true_energy_lies_inside_the_interval(idle_w, extra_w, step_s, phase, lag, seconds, call_s):
    clock = FakeClock(start_s=1.0)
    device = FakeDevice(clock, idle_w=idle_w, busy_w=idle_w + extra_w, step_s=step_s, phase_s=phase * step_s, lag_s=lag * step_s)
    begin, truth = _burst(device, call_s)
    reading = measure_energy(begin, device, seconds=seconds, clock=clock, sleep=clock.sleep)
    if reading.energy_j is None:
        assert "burst" in reading.reason and reading.burst_s < 5 * max(step_s, 0.1) + call_s
        return
    slack = 1e-9 * truth["j"]
    assert reading.low_j - slack <= truth["j"] <= reading.high_j + slack
    assert reading.low_j <= reading.energy_j <= reading.high_j
    assert reading.energy_j == pytest.approx(truth["j"], rel=0.05)
    assert reading.idle_power_w == pytest.approx(idle_w, rel=0.1)


def test_a_longer_burst_narrows_the_interval():
    def width(seconds):
        clock = FakeClock(1.0)
        device = FakeDevice(clock, lag_s=0.03)
        reading = measure_energy(_burst(device, 1e-3)[0], device, seconds=seconds, clock=clock, sleep=clock.sleep)
        return (reading.high_j - reading.low_j) / reading.energy_j

    assert width(6.0) < 0.3 * width(0.8)


def test_six_steps_of_a_counter_give_the_power_within_two_per_cent():
    clock = FakeClock(1.0)
    device = FakeDevice(clock, lag_s=0.07)
    begin, truth = _burst(device, 1e-4)
    reading = measure_energy(begin, device, clock=clock, sleep=clock.sleep)
    assert reading.burst_s < 0.65 and reading.energy_j == pytest.approx(truth["j"], rel=0.02)
    assert reading.power_w == pytest.approx(600, rel=0.02) and reading.calls >= 6000 and reading.source == "fake"


def test_the_second_of_two_bursts_waits_for_no_idle_device():
    clock = FakeClock(1.0)
    device = FakeDevice(clock, lag_s=0.07)
    first = measure_energy(_burst(device, 1e-4)[0], device, clock=clock, sleep=clock.sleep)
    began_s = clock.now_s
    second = measure_energy(_burst(device, 1e-4)[0], device, before=first, clock=clock, sleep=clock.sleep)
    assert clock.now_s - began_s < 0.65 and second.power_w == pytest.approx(600, rel=0.02)
    assert second.idle_power_w == first.idle_power_w


def test_a_slow_counter_gets_a_longer_burst():
    clock = FakeClock(1.0)
    device = FakeDevice(clock, step_s=0.5)
    reading = measure_energy(_burst(device, 1e-3)[0], device, seconds=0.6, clock=clock, sleep=clock.sleep)
    assert reading.burst_s > 2.4 and reading.power_w == pytest.approx(600, rel=0.02)


def test_a_burst_that_ends_early_is_none_with_the_reason_not_zero():
    clock = FakeClock(1.0)
    device = FakeDevice(clock)
    reading = measure_energy(lambda _: _burst(device, 1e-5)[0](0.05), device, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and reading.low_j is None and "usable steps" in reading.reason
    assert reading.idle_power_w == pytest.approx(80, rel=0.05), "what is known is kept"


def test_a_counter_that_never_moves_is_a_reason():
    clock = FakeClock(1.0)
    dead = FakeDevice(clock, idle_w=0.0, busy_w=0.0)
    reading = measure_energy(_burst(dead, 1.0)[0], dead, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and "did not move" in reading.reason


def test_a_counter_that_fails_midway_is_a_reason_and_the_burst_is_waited_for():
    clock = FakeClock(1.0)
    device = FakeDevice(clock)
    ended = []

    class Lost(Pending):
        def result(self):
            ended.append(super().result())
            return ended[0]

    def begin(seconds):
        device.read_j = _raise_lost
        return Lost(device, 3, clock.now_s + seconds)

    def _raise_lost():
        raise OSError("GPU is lost")

    reading = measure_energy(begin, device, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and reading.reason == "GPU is lost" and ended == [3]


def test_a_failing_burst_is_not_swallowed():
    clock = FakeClock(1.0)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        measure_energy(lambda _: pool.submit(lambda: 1 // 0), FakeDevice(clock), clock=clock, sleep=clock.sleep)


def _package(folder, name, energy_uj, range_uj=1_000_000):
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{range_uj}\n")


def test_rapl_sums_packages_leaves_out_their_parts_and_unwraps(tmp_path):
    _package(tmp_path, "intel-rapl:0", 900_000)
    _package(tmp_path, "intel-rapl:1", 100)
    _package(tmp_path, "intel-rapl:0:0", 5)
    meter = RaplMeter(tmp_path)
    assert meter.read_j() == 0
    _package(tmp_path, "intel-rapl:0", 100_000)
    _package(tmp_path, "intel-rapl:1", 300_100)
    _package(tmp_path, "intel-rapl:0:0", 800_000)
    assert meter.read_j() == pytest.approx(0.2 + 0.3)


def test_without_a_counter_the_reason_says_so(tmp_path):
    with pytest.raises(OSError, match="no RAPL package"):
        RaplMeter(tmp_path)
    gpu = Machine(device_id="x", device_name="x", kind="cuda")
    assert isinstance(find_meter(gpu), NoMeter) and "UUID" in find_meter(gpu).reason
    assert "AMD" in find_meter(gpu.model_copy(update={"kind": "rocm"})).reason
    assert find_meter(gpu.model_copy(update={"device_uuid": "GPU-not-here"})).reason


def test_a_reading_can_be_sent_as_plain_data():
    clock = FakeClock(1.0)
    device = FakeDevice(clock)
    reading = measure_energy(_burst(device, 1e-3)[0], device, clock=clock, sleep=clock.sleep)
    assert set(dataclasses.asdict(reading)) >= {"energy_j", "low_j", "high_j", "power_w", "idle_power_w", "burst_s", "source", "reason"}


@pytest.mark.gpu
def test_the_gpu_counter_sees_a_burst_of_products():
    import time

    import torch

    from popcorn.devices.probe import probe

    machine = probe("cuda:0")
    meter = find_meter(machine)
    assert not isinstance(meter, NoMeter), meter
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def burst(seconds):
        calls, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(20):
                a @ a
            torch.cuda.synchronize()
            calls += 20
        return calls

    burst(0.3)
    with ThreadPoolExecutor(1) as pool:
        quick, long = (measure_energy(lambda seconds: pool.submit(burst, seconds), meter, seconds=seconds) for seconds in (0.6, 2.0))
    for reading in (quick, long):
        assert reading.reason is None and reading.low_j <= reading.energy_j <= reading.high_j
        assert reading.idle_power_w < reading.power_w <= 1.1 * machine.power_limit_w
    assert quick.energy_j == pytest.approx(long.energy_j, rel=0.05), "a short burst says what a long one says"
