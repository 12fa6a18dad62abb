"""Energy of a call, against a device whose true energy is known."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.measure.energy import NoMeter, RaplMeter, find_meter, measure_energy
from popcorn.measure.fake import FakeClock, FakeDevice
from popcorn.schema.machine import Machine


def _burst(device, call_s):
    """Back-to-back calls on a fake device, and the true energy of what ran."""
    truth = {}

    def burst(seconds):
        start_j, calls = device.true_energy_j(), max(1, round(seconds / call_s))
        device.launch(call_s * calls)
        device.synchronize()
        truth["j"] = (device.true_energy_j() - start_j) / calls
        return calls

    return burst, truth


@settings(max_examples=60, deadline=None)
@given(
    idle_w=st.floats(5, 200),
    extra_w=st.floats(1, 900),
    step_s=st.floats(0.001, 0.2),
    phase=st.floats(0, 1),
    lag=st.floats(0, 1),
    seconds=st.floats(1.0, 4.0),
    call_s=st.floats(1e-6, 0.3),
)
def test_the_true_energy_lies_inside_the_interval(idle_w, extra_w, step_s, phase, lag, seconds, call_s):
    clock = FakeClock(start_s=1.0)
    device = FakeDevice(clock, idle_w=idle_w, busy_w=idle_w + extra_w, step_s=step_s, phase_s=phase * step_s, lag_s=lag * step_s)
    burst, truth = _burst(device, call_s)
    reading = measure_energy(burst, device, seconds=seconds, idle_s=0.3, clock=clock, sleep=clock.sleep)
    if reading.energy_j is None:
        assert reading.burst_s < 1.0 and "burst" in reading.reason
        return
    slack = 1e-9 * truth["j"]
    assert reading.low_j - slack <= truth["j"] <= reading.high_j + slack
    assert reading.low_j <= reading.energy_j <= reading.high_j
    assert reading.idle_power_w == pytest.approx(idle_w, rel=0.1)


def test_a_longer_burst_narrows_the_interval():
    def width(seconds):
        clock = FakeClock(1.0)
        device = FakeDevice(clock, lag_s=0.03)
        reading = measure_energy(_burst(device, 1e-3)[0], device, seconds=seconds, clock=clock, sleep=clock.sleep)
        return (reading.high_j - reading.low_j) / reading.energy_j

    assert width(8.0) < 0.3 * width(1.5)


def test_the_estimate_is_within_the_step_of_the_truth():
    clock = FakeClock(1.0)
    device = FakeDevice(clock, lag_s=0.0)
    burst, truth = _burst(device, 1e-4)
    reading = measure_energy(burst, device, seconds=2.0, clock=clock, sleep=clock.sleep)
    assert reading.energy_j == pytest.approx(truth["j"], rel=0.02)
    assert reading.power_w == pytest.approx(600, rel=0.02) and reading.calls == 20000 and reading.source == "fake"


def test_a_short_burst_is_none_with_the_reason_not_zero():
    clock = FakeClock(1.0)
    device = FakeDevice(clock)
    reading = measure_energy(_burst(device, 1e-5)[0], device, seconds=0.05, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and reading.low_j is None and "at least 1 s" in reading.reason
    assert reading.idle_power_w == pytest.approx(80, rel=0.05), "what is known is kept"


def test_a_counter_that_never_moves_is_a_reason():
    clock = FakeClock(1.0)
    dead = FakeDevice(clock, idle_w=0.0, busy_w=0.0)
    reading = measure_energy(lambda _: 1, dead, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and "did not move" in reading.reason


def test_a_counter_that_fails_midway_is_a_reason():
    clock = FakeClock(1.0)
    device = FakeDevice(clock)

    def burst(seconds):
        device.read_j = _raise_lost
        device.launch(seconds)
        device.synchronize()
        return 3

    def _raise_lost():
        raise OSError("GPU is lost")

    reading = measure_energy(burst, device, clock=clock, sleep=clock.sleep)
    assert reading.energy_j is None and reading.reason == "GPU is lost"


def test_a_failing_burst_is_not_swallowed():
    clock = FakeClock(1.0)
    with pytest.raises(ZeroDivisionError):
        measure_energy(lambda _: 1 // 0, FakeDevice(clock), clock=clock, sleep=clock.sleep)


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
    reading = measure_energy(burst, meter)
    assert reading.reason is None and reading.low_j <= reading.energy_j <= reading.high_j
    assert reading.idle_power_w < reading.power_w <= 1.1 * machine.power_limit_w
