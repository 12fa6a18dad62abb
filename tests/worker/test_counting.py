"""Counts that a candidate's process reports: taken when they can be counts, refused when they cannot, and never a crash of ours."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.devices.ceilings import Ceilings
from popcorn.measure.steadiness import Steadiness
from popcorn.schema.measurement import Control, Counters, Kernel, KernelCounters, Launches
from popcorn.worker import counting
from popcorn.worker.counting import Pair, _counters, _launches, _memory, at_least, ceilings_wanted
from popcorn.worker.refused import Refused
from popcorn.worker.session import Session
from popcorn.worker.taken import Taken
from tests.made_records import make_timing

GOOD = {"peak_bytes": 300, "output_bytes": 100, "workspace_bytes": 200, "saved_bytes": None, "reason": None}


def test_memory_is_the_ratio_of_both_peaks():
    memory = _memory(Pair({**GOOD, "peak_bytes": 150}, GOOD))
    assert (memory.peak_bytes, memory.baseline_peak_bytes, memory.ratio, memory.workspace_bytes) == (150, 300, 0.5, 200)


@pytest.mark.parametrize("peak", [-1, 1.5, "300", True, None, [300], 10**400, 1 << 60])
def test_a_peak_that_is_no_number_of_bytes_is_unknown(peak):
    memory = _memory(Pair({**GOOD, "peak_bytes": peak}, GOOD))
    assert memory.peak_bytes is None and memory.ratio is None and memory.baseline_peak_bytes == 300


def test_a_baseline_that_needs_no_memory_has_no_ratio():
    assert _memory(Pair(GOOD, {**GOOD, "peak_bytes": 0})).ratio is None


def counted(**fields) -> dict:
    return {"launches": Launches(**fields).model_dump()}


def test_fusion_is_the_ratio_of_launches():
    found = _launches(Pair(counted(kernels=2, source="cupti"), counted(kernels=6)))
    assert (found.kernels, found.baseline_kernels, found.fusion_ratio) == (2, 6, 3.0)


@pytest.mark.parametrize("kernels", [0, None])
def test_no_launches_have_no_fusion_ratio(kernels):
    assert _launches(Pair(counted(kernels=kernels), counted(kernels=6))).fusion_ratio is None


IMPOSSIBLE = {
    "fewer than none": {"kernels": -1},
    "more than a GPU ever launched": {"kernels": 10**30},
    "negative copies": {"kernels": 1, "copies": -5},
    "negative time": {"kernels": 1, "device_time_s": -1.0},
    "more than all of it": {"kernels": 1, "custom_share": 7.0},
    "a long name": {"kernels": 1, "breakdown": (Kernel(name="x" * 100_000, launches=1, time_s=1.0),)},
    "a long list": {"kernels": 1, "breakdown": (Kernel(name="x", launches=1, time_s=1.0),) * 1000},
    "a long reason": {"reason": "x" * 100_000},
}


@pytest.mark.parametrize("fields", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_counts_that_cannot_be_are_refused(fields):
    found = _launches(Pair(counted(**fields), counted(kernels=6)))
    assert found.kernels is None and found.breakdown == () and "out of form" in found.reason
    assert found.baseline_kernels == 6


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*Launches.model_fields, *GOOD]), inner, max_size=4),
)


@given(st.dictionaries(st.sampled_from(["launches", *GOOD]), ANY, max_size=5))
@settings(max_examples=200, deadline=None)
def test_whatever_arrives_becomes_something_that_can_be_written(reply):
    for found in (_memory(Pair(reply, GOOD)), _launches(Pair(reply, counted(kernels=6)))):
        assert json.loads(found.model_dump_json()) is not None


@pytest.mark.parametrize(("in_call", "of"), [(300, 300), (1, None), (None, None)])
def test_counters_of_the_first_kernels_alone_say_of_how_many(in_call, of):
    counters = Counters(kernels=(KernelCounters(name="first", time_s=1e-3),))
    session = SimpleNamespace(
        bench=SimpleNamespace(cuda=True), request=SimpleNamespace(counters=True), progress=lambda text: None,
        profile=SimpleNamespace(collect=lambda: counters),
    )  # fmt: skip
    assert _counters(session, Launches(kernels=in_call)).of_kernels == of  # type: ignore[arg-type]


def test_what_the_driver_counts_beside_others_accuses_nobody_and_counts_all_the_same():
    made = make_timing()
    assert at_least(made, None) is made
    timing = made.model_copy(update={"baseline": made.baseline.model_copy(update={"warm_time_s": made.baseline.time_s})})
    slow = at_least(timing, 4 * timing.candidate.time_s)
    assert slow.candidate.time_s == pytest.approx(4 * timing.candidate.time_s)
    assert slow.speedup.value == pytest.approx(timing.speedup.value / 4) and slow.speedup.low < slow.speedup.value < slow.speedup.high
    assert slow.speedup_compiled.value == pytest.approx(timing.speedup_compiled.value / 4) and slow.comparison == "slower"
    assert slow.control.fit is False and "by the driver's account" in slow.control.reason
    cold = made.model_copy(update={"baseline": made.baseline.model_copy(update={"warm_time_s": made.baseline.time_s / 1.2})})
    assert at_least(cold, 4 * made.candidate.time_s).speedup.value == pytest.approx(slow.speedup.value / 1.2), (
        "a burst is warm, a claim is cold"
    )


def in_a_burst(monkeypatch, calls, wall_s, share, steady=Steadiness(True)):
    """A session on a GPU whose candidate says that it made `calls` calls, which took `wall_s`, and whose driver says for what `share` the GPU was busy."""
    session = SimpleNamespace(
        bench=SimpleNamespace(cuda=True, machine=SimpleNamespace(device_uuid="GPU-1")), request=SimpleNamespace(timeout_s=1.0), passed={},
        ask_candidate=lambda *_: {"calls": calls}, processes=lambda: ((), ()),
    )  # fmt: skip
    session.check = lambda *facts, **named: Session.check(session, *facts, **named)
    clock = iter([0.0, wall_s])
    monkeypatch.setattr(counting, "time", SimpleNamespace(monotonic=lambda: next(clock), time=lambda: 0.0))
    monkeypatch.setattr(counting, "busy_share", lambda *_: share)
    monkeypatch.setattr(counting, "Watch", lambda *_: SimpleNamespace(check=lambda *_: steady))
    return session


def test_a_host_that_issues_calls_twice_as_fast_as_it_was_timed_accuses_nobody(monkeypatch):
    """A kernel of 30 µs, that the driver counts as 31: 110 µs a call when the host was timed, 50 in the burst."""
    side = {"time_s": 30e-6, "low_s": 30e-6, "warm_time_s": 29e-6, "host_time_s": 110e-6}
    timing = make_timing()
    hidden = timing.model_copy(update={"candidate": timing.candidate.model_copy(update=side)})
    session = in_a_burst(monkeypatch, calls=24_000, wall_s=1.2, share=31e-6 * 24_000 / 1.2)
    launch = SimpleNamespace(children={"candidate": None}, taken=Taken(steadiness=Steadiness(True)), busy_s=None)
    message = {"do": "burst", "seconds": 1.2, "chunk": 666}
    counted = counting._burst_of_candidate(session, launch, hidden, message, Launches(kernels=1, device_time_s=30e-6))  # type: ignore[arg-type]
    assert counted < 24_000, "what the host could not have issued makes no call cheaper"


def test_a_warm_time_that_is_made_up_makes_no_call_of_a_burst_cheaper(monkeypatch):
    """100 µs a call, by the parent's clock in a row, too; 10 µs are claimed for calls with warm caches, and four times as many calls as fit."""
    side = {"time_s": 1e-4, "low_s": 1e-4, "warm_time_s": 1e-5, "host_time_s": 5e-6}
    timing = make_timing()
    cheap = timing.model_copy(update={"candidate": timing.candidate.model_copy(update=side)})
    launch = SimpleNamespace(children={"candidate": None}, taken=Taken(row_s=1e-4), busy_s=None)
    session = in_a_burst(monkeypatch, calls=32_000, wall_s=0.8, share=1.0)
    message = {"do": "burst", "seconds": 0.8, "chunk": 200}
    assert counting._burst_of_candidate(session, launch, cheap, message, Launches()) < 1.6 * 8_000 + 200  # type: ignore[arg-type]


@pytest.mark.parametrize(("kernels", "counted"), [(2, 8.6e-6), (1, None)])
def test_kernels_that_may_have_overlapped_accuse_nobody_and_nobody_gains_by_them(monkeypatch, kernels, counted):
    """As an H200 showed: 5.6 µs claimed, 7.5 by the candidate's own census, 8.6 by the driver. Of two kernels that can be; it counts."""
    timing = make_timing()
    side = {"time_s": 5.6e-6, "low_s": 4e-6, "warm_time_s": 3.6e-6, "host_time_s": 55e-6}
    hidden = timing.model_copy(update={"candidate": timing.candidate.model_copy(update=side)})
    session = in_a_burst(monkeypatch, calls=20_000, wall_s=1.2, share=8.6e-6 * 20_000 / 1.2)
    launch = SimpleNamespace(children={"candidate": None}, taken=Taken(steadiness=Steadiness(True)), busy_s=None)
    census = Launches(kernels=kernels, device_time_s=7.5e-6)
    message = {"do": "burst", "seconds": 1.2, "chunk": 3500}
    if counted is None:
        with pytest.raises(Refused, match="the device was busy for"):
            counting._burst_of_candidate(session, launch, hidden, message, census)  # type: ignore[arg-type]
    else:
        assert counting._burst_of_candidate(session, launch, hidden, message, census) == 20_000  # type: ignore[arg-type]
    assert launch.busy_s == (counted if counted is None else pytest.approx(counted))


@pytest.mark.parametrize(("before", "meanwhile"), [(False, False), (True, False), (False, True)])
def test_a_host_that_hides_device_time_is_accused_unless_somebody_else_computed_there(monkeypatch, before, meanwhile):
    """The driver says: busy for nine tenths of a burst of 1,000 calls a second. 9.6 µs a call were claimed, behind a host that takes a millisecond."""
    timing = make_timing()
    hidden = timing.model_copy(
        update={
            "candidate": timing.candidate.model_copy(update={"host_time_s": 1e-3}),
            "control": timing.control.model_copy(update={"fit": False}),
        }
    )
    session = in_a_burst(monkeypatch, calls=1000, wall_s=1.0, share=0.9, steady=Steadiness(False, ("who",), meanwhile))
    taken = Taken(steadiness=Steadiness(False, ("3 threads want 2 cores",), before))
    launch = SimpleNamespace(children={"candidate": None}, taken=taken, busy_s=None)
    message = {"do": "burst", "seconds": 1.0, "chunk": 20}
    if before or meanwhile:
        assert counting._burst_of_candidate(session, launch, hidden, message, Launches()) == 1000  # type: ignore[arg-type]
    else:
        with pytest.raises(Refused, match="the device was busy for"):
            counting._burst_of_candidate(session, launch, hidden, message, Launches())  # type: ignore[arg-type]
    assert launch.busy_s == (pytest.approx(9e-4) if before or meanwhile else None)


@pytest.mark.parametrize("known, fit, wanted", [
    (None, False, True), (None, None, True), (Ceilings(), False, False), (Ceilings(), None, False), (Ceilings(), True, True), (Ceilings(fit=True), True, False),
])  # fmt: skip
def test_ceilings_that_no_fit_run_took_are_taken_again_in_one_that_is(known, fit, wanted):
    timing = make_timing().model_copy(update={"control": Control(fit=fit)})
    assert ceilings_wanted(known, timing) is wanted
