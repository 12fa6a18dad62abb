"""Matching of device records to calls, on made-up Kineto events."""

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.measure.activity import NoDeviceRecord, StrayActivity, _read, assign, record_activity

LABEL = "popcorn.abc"


@dataclass
class Event:
    """Kineto's event, as far as it is used. Without a `kind` it is one of an older torch."""

    text: str
    start: int
    length: int
    device: str = "CPU"
    correlation: int = 0
    kind: str | None = None
    annotation: bool = False

    def __post_init__(self):
        if self.kind is not None:
            self.activity_type = lambda: self.kind

    name = lambda self: self.text  # noqa: E731
    start_ns = lambda self: self.start  # noqa: E731
    duration_ns = lambda self: self.length  # noqa: E731
    correlation_id = lambda self: self.correlation  # noqa: E731
    is_user_annotation = lambda self: self.annotation  # noqa: E731
    device_type = lambda self: SimpleNamespace(name=self.device)  # noqa: E731


def span(name, start, end):
    return Event(f"{LABEL}.{name}", start, end - start, kind="user_annotation", annotation=True)


def launch(start, correlation, name="cudaLaunchKernel"):
    return Event(name, start, 5, correlation=correlation, kind="cuda_runtime")


def work(start, end, correlation, name="my_kernel", kind="kernel"):
    return Event(name, start, end - start, "CUDA", correlation, kind)


def span_s(call):
    """From the first start to the last end of a call's device work."""
    return (max(record.end_ns for record in call) - min(record.start_ns for record in call)) * 1e-9


KNOWN = [span("known", 0, 90), launch(10, 1), work(20, 30, 1)]


def older(events):
    """The same events without `activity_type`, as torch 2.9 gives them."""
    return [Event(e.text, e.start, e.length, e.device, e.correlation, None, e.annotation) for e in events]


@pytest.mark.parametrize("as_seen", [list, older], ids=["typed", "untyped"])
def test_a_span_runs_from_the_first_start_to_the_last_end_over_all_streams(as_seen):
    events = [*KNOWN, span("call.0", 100, 400), launch(110, 7), work(150, 170, 7), launch(120, 8), work(160, 260, 8)]
    (call,) = assign(as_seen(events), LABEL, 1)
    assert span_s(call) == pytest.approx(110e-9)


@pytest.mark.parametrize("as_seen", [list, older], ids=["typed", "untyped"])
def test_ranges_on_the_devices_side_and_torch_ops_are_no_work(as_seen):
    events = [
        *KNOWN,
        span("call.0", 100, 400),
        Event("aten::add", 105, 50, correlation=8, kind="cpu_op"),
        launch(110, 7),
        work(150, 170, 7),
        Event(f"{LABEL}.call.0", 140, 200, "CUDA", 0, "gpu_user_annotation", annotation=True),
        Event("their range", 140, 200, "CUDA", 0, "gpu_user_annotation", annotation=True),
        Event("Stream Synchronize", 171, 200, "CUDA", 9, "cuda_sync"),
    ]
    (call,) = assign(as_seen(events), LABEL, 1)
    assert span_s(call) == pytest.approx(20e-9) and len(call) == 1


def test_copies_and_fills_are_told_apart_and_count_in_the_span():
    events = [*KNOWN, span("call.0", 100, 400), launch(110, 7), work(150, 160, 7, "Memset (Device)", "gpu_memset"),
              launch(115, 8), work(170, 200, 8, "Memcpy DtoD (Device -> Device)", "gpu_memcpy")]  # fmt: skip
    (call,) = assign(events, LABEL, 1)
    assert [record.kind for record in call] == ["fill", "copy"] and span_s(call) == pytest.approx(50e-9)


def test_one_graph_launch_owns_all_its_kernels():
    events = [*KNOWN, span("call.0", 100, 400), launch(110, 7, "cudaGraphLaunch"), *(work(150 + 10 * i, 155 + 10 * i, 7) for i in range(5))]
    (call,) = assign(events, LABEL, 1)
    assert len(call) == 5 and span_s(call) == pytest.approx(45e-9)


def test_the_flush_between_calls_is_charged_to_nobody():
    events = [*KNOWN, span("between", 100, 200), launch(110, 7), work(120, 190, 7, "flush"), span("call.0", 210, 300), launch(220, 8),
              work(230, 240, 8), span("between", 300, 390), launch(310, 9), work(320, 380, 9, "flush"), span("call.1", 400, 500),
              launch(410, 10), work(420, 450, 10)]  # fmt: skip
    assert [span_s(call) for call in assign(events, LABEL, 2)] == pytest.approx([10e-9, 30e-9])


def test_work_without_a_recorded_launch_belongs_to_the_range_it_ran_in():
    events = [*KNOWN, span("call.0", 100, 200), work(150, 170, 77), span("call.1", 210, 300), work(250, 290, 78)]
    assert [span_s(call) for call in assign(events, LABEL, 2)] == pytest.approx([20e-9, 40e-9])


def test_work_launched_in_one_call_that_runs_into_the_next_stays_with_the_first():
    events = [
        *KNOWN,
        span("call.0", 100, 200),
        launch(110, 7),
        work(150, 390, 7),
        span("call.1", 210, 400),
        launch(220, 8),
        work(391, 395, 8),
    ]
    assert [span_s(call) for call in assign(events, LABEL, 2)] == pytest.approx([240e-9, 4e-9])


def test_stray_work_is_an_error_not_ignored():
    with pytest.raises(StrayActivity, match="hidden_kernel"):
        assign([*KNOWN, span("call.0", 100, 200), launch(205, 7), work(150, 170, 7, "hidden_kernel")], LABEL, 1)


def test_a_range_in_our_name_cannot_be_opened_without_the_secret():
    events = [*KNOWN, Event("popcorn.other.call.0", 100, 300, kind="user_annotation", annotation=True), launch(110, 7), work(120, 130, 7)]
    with pytest.raises(StrayActivity):
        assign(events, LABEL, 1)


def test_a_forged_launch_range_does_not_move_a_kernel():
    forged = Event("cudaLaunchKernel", 101, 5, correlation=7, kind="user_annotation", annotation=True)
    events = [*KNOWN, span("call.0", 100, 200), forged, span("call.1", 210, 300), launch(220, 7), work(230, 240, 7)]
    for seen in (events, older(events)):
        assert [len(call) for call in assign(seen, LABEL, 2)] == [0, 1]


def test_a_profiler_that_records_nothing_fails_closed():
    with pytest.raises(NoDeviceRecord, match="at all"):
        assign([span("known", 0, 90), launch(10, 1), span("call.0", 100, 200)], LABEL, 1)


def test_a_call_that_launches_nothing_has_no_records():
    assert assign([*KNOWN, span("call.0", 100, 200)], LABEL, 1) == [()]


def test_our_ranges_are_read_from_a_real_session():
    """The host's half of the matching, on events that torch's profiler really gives."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for index in range(3):
            with record_function(f"{LABEL}.between"):
                torch.ones(4)
            with record_function(f"{LABEL}.call.{index}"):
                torch.ones(64).sin()
    records, ranges = _read(profiler.profiler.kineto_results.events(), LABEL)
    assert records == [], "operators on the host are no device work"
    assert {name for name in ranges if name.startswith("call")} == {"call.0", "call.1", "call.2"} and len(ranges) == 6
    ordered = sorted(ranges.values())
    assert all(end > start for start, end in ordered)
    assert all(end <= start for (_, end), (start, _) in pairwise(ordered)), "ranges do not overlap"


def test_a_cpu_has_no_device_records():
    with pytest.raises(NoDeviceRecord, match="CPU"):
        record_activity([lambda: None], "cpu")


@pytest.mark.parametrize("as_seen", [list, older], ids=["typed", "untyped"])
def test_a_correlation_of_zero_matches_nothing(as_seen):
    events = [*KNOWN, span("call.0", 100, 200), launch(110, 0, "cudaStreamIsCapturing"), span("call.1", 210, 300), work(250, 260, 0)]
    assert [len(call) for call in assign(as_seen(events), LABEL, 2)] == [0, 1]


def test_an_unknown_kind_of_device_activity_counts_as_work():
    events = [*KNOWN, span("call.0", 100, 200), launch(110, 7), work(120, 130, 7), work(130, 190, 7, "new engine", "gpu_something_new")]
    assert span_s(assign(events, LABEL, 1)[0]) == pytest.approx(70e-9)


def test_hostile_names_are_cut():
    (call,) = assign([*KNOWN, span("call.0", 100, 200), launch(110, 7), work(120, 130, 7, "x" * 10**6)], LABEL, 1)
    assert len(call[0].name) == 200


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 500)), min_size=1, max_size=5), min_size=1, max_size=6), st.randoms()
)
def test_every_record_goes_to_the_call_that_launched_it_in_any_order_of_events(calls, random):
    events, correlation = list(KNOWN), 10
    for index, kernels in enumerate(calls):
        begin = 1000 * (index + 1)
        events.append(span(f"call.{index}", begin, begin + 999))
        for offset, length in kernels:
            correlation += 1
            events += [launch(begin + offset, correlation), work(begin + offset + 20, begin + offset + 20 + length, correlation)]
    random.shuffle(events)
    for call, kernels in zip(assign(events, LABEL, len(calls)), calls, strict=True):
        assert len(call) == len(kernels)
        expected = max(offset + length for offset, length in kernels) - min(offset for offset, _ in kernels)
        assert span_s(call) == pytest.approx(expected * 1e-9)


@pytest.mark.gpu
def test_spans_of_real_kernels_agree_with_events_for_long_ones():
    import torch

    a = torch.randn(4096, 4096, device="cuda")
    spans = [span_s(call) for call in record_activity([lambda: a @ a] * 5, "cuda")]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    _ = a @ a
    end.record()
    torch.cuda.synchronize()
    assert sorted(spans)[2] == pytest.approx(start.elapsed_time(end) * 1e-3, rel=0.2)


@pytest.mark.gpu
def test_a_call_that_launches_nothing_has_no_records_on_a_gpu():
    assert record_activity([lambda: None], "cuda") == [()]
