"""Where a call stands under the machine's roof."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.devices.specs import find
from popcorn.measure.roofline import ceilings, impossible_below, place, under_the_floor
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Counters, Kernel

H200 = find("NVIDIA H200")
BARE = Machine(device_id="nvidia-h200-sxm", device_name="NVIDIA H200", kind="cuda")
MEASURED = BARE.model_copy(update={"bandwidth_bytes_per_s": 4.24e12, "flop_per_s": {"bfloat16": 790e12}})


def test_a_memory_bound_call_reaches_its_share_of_the_copy_bandwidth():
    roof = place(4.24e9, 1e9, 1.25e-3, "bfloat16", MEASURED, H200)
    assert roof.sol == roof.sol_model == pytest.approx(0.8) and roof.sol_source == "model" and roof.bound == "memory"
    assert roof.floor_s == pytest.approx(1e-3) and roof.ceiling_source == "measured" and roof.reason is None
    assert roof.bandwidth_bytes_per_s == pytest.approx(4.24e9 / 1.25e-3)


def test_the_later_of_the_two_limits_is_the_floor():
    roof = place(1e6, 790e9, 2e-3, "bfloat16", MEASURED, H200)
    assert roof.floor_s == pytest.approx(1e-3) and roof.bound == "compute" and roof.arithmetic_intensity == pytest.approx(790e3)


def test_only_dense_peaks_make_the_ridge():
    roof = place(1e9, 1e9, 1.0, "bfloat16", BARE, H200)
    assert roof.peak_flop_per_s == pytest.approx(989.5e12) and roof.ridge_flop_per_byte == pytest.approx(989.5 / 4.8)
    assert roof.ceiling_source == "datasheet"


def test_one_datasheet_ceiling_is_said_even_beside_a_measured_one():
    roof = place(1e9, 1e9, 1.0, "float16", MEASURED, H200)
    assert roof.peak_bandwidth_bytes_per_s == 4.24e12 and roof.ceiling_source == "datasheet"


def test_faster_than_light_is_none_with_the_reason_and_never_clamped():
    roof = place(4.24e9, None, 0.5e-3, "bfloat16", MEASURED, H200)
    assert roof.sol is None and roof.sol_model is None and "2 × the speed of light" in roof.reason
    assert under_the_floor(0.5e-3, roof.floor_s)


def test_without_any_ceiling_the_reason_says_so():
    roof = place(1e9, 1e9, 1e-3, "bfloat16", BARE, None)
    assert roof.sol is None and roof.floor_s is None and roof.ceiling_source is None and "bfloat16" in roof.reason
    assert roof.arithmetic_intensity == 1.0


def test_an_unknown_flop_peak_leaves_a_floor_by_bytes_and_says_so():
    l4 = find("NVIDIA L4")
    roof = place(3e9, 1e9, 0.02, "float64", BARE, l4)
    assert roof.sol == pytest.approx(0.5) and "float64 flop rate" in roof.reason


def test_a_problem_that_declares_nothing_has_no_model_figure():
    roof = place(None, None, 1e-3, "float32", MEASURED, H200)
    assert roof.sol is None and "declares neither" in roof.reason


def test_counters_lead_and_the_model_stays_beside_them():
    roof = place(4.24e9, 1e9, 1.25e-3, "bfloat16", MEASURED, H200, Counters(dram_utilisation=0.9, compute_utilisation=0.3, occupancy=0.8))
    assert roof.sol == 0.9 and roof.sol_source == "counters" and roof.sol_counters == 0.9 and roof.sol_model == pytest.approx(0.8)


def test_counters_keep_a_headline_when_the_model_has_none():
    roof = place(None, None, 1e-3, "bfloat16", MEASURED, H200, Counters(dram_utilisation=None, compute_utilisation=0.4))
    assert roof.sol == 0.4 and roof.sol_source == "counters"


def test_tiny_calls_are_bound_by_latency():
    assert place(1e3, 1e3, 3e-6, "float32", MEASURED, H200).bound == "latency"
    kernels = (Kernel(name="k", launches=1, time_s=2e-6),)
    assert place(1e3, 1e3, 40e-6, "float32", MEASURED, H200, kernels=kernels).bound == "latency", "the kernels themselves are short"


def test_few_warps_that_reach_nothing_are_bound_by_latency():
    few = Counters(dram_utilisation=0.1, compute_utilisation=0.2, occupancy=0.06)
    assert place(1e9, 1e9, 1e-2, "float32", MEASURED, H200, few).bound == "latency"
    full = few.model_copy(update={"compute_utilisation": 0.9})
    assert place(1e9, 1e9, 1e-2, "float32", MEASURED, H200, full).bound == "compute"


def test_a_low_measured_ceiling_does_not_accuse_honest_work():
    slow = BARE.model_copy(update={"bandwidth_bytes_per_s": 1e12, "flop_per_s": {"bfloat16": 800e12}})
    floor_s = impossible_below(4.8e9, 1e9, "bfloat16", slow, H200)
    assert floor_s == pytest.approx(1e-3), "the datasheet's bandwidth"
    assert place(4.8e9, 1e9, 2e-3, "bfloat16", slow, H200).floor_s == pytest.approx(4.8e-3)
    assert not under_the_floor(2e-3, floor_s) and under_the_floor(0.5e-3, floor_s)
    assert impossible_below(1e9, 1e9, "int4", BARE, None) is None


def test_unknown_is_never_under_the_floor():
    assert not under_the_floor(None, 1.0) and not under_the_floor(1.0, None)
    assert not under_the_floor(0.96, 1.0) and under_the_floor(0.94, 1.0) and not under_the_floor(0.94, 1.0, tolerance=0.1)


positive = st.floats(1e-9, 1e15)


@given(positive, positive, positive, positive, positive)
def test_the_model_is_a_share_or_unknown(min_bytes, flops, time_s, bandwidth, peak):
    machine = BARE.model_copy(update={"bandwidth_bytes_per_s": bandwidth, "flop_per_s": {"float32": peak}})
    roof = place(min_bytes, flops, time_s, "float32", machine)
    assert roof.sol_model is None or 0 <= roof.sol_model <= 1
    assert (roof.sol_model is None) == (roof.floor_s > time_s)


@given(positive, st.floats(1, 100))
def test_wasted_traffic_cannot_raise_the_model(time_s, waste):
    """More time for the same declared work only lowers it: the bytes that were really moved do not enter."""
    slow, fast = (place(1e3, 1e3, seconds, "float32", MEASURED, H200).sol_model for seconds in (time_s * waste, time_s))
    assert slow is None or fast is None or slow <= fast


def test_measured_ceilings_come_before_the_datasheet():
    bandwidth, peak = ceilings("bfloat16", MEASURED, H200)
    assert (bandwidth.value, bandwidth.source, peak.value, peak.source) == (4.24e12, "measured", 790e12, "measured")
