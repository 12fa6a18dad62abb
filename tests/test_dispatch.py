"""Dispatch: what it picks from records, what it refuses, what it says."""

import warnings

import pytest
import torch

from popcorn import dispatch
from popcorn.dispatch import Measured, Notice, PopcornWarning
from popcorn.ops import swiglu
from popcorn.ops.calls import Call
from popcorn.ops.registry import find_op
from popcorn.records.store import Store, default_store
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Interval, Measurement, Memory
from popcorn.schema.record import Provenance, Record, Subject
from popcorn.schema.verdict import Verdict
from popcorn.worker.writing import candidate_hash
from tests.made_records import identity, make_samples, make_timing

HERE = Machine(device_id="cpu-here-1t", device_name="a processor", kind="cpu", torch="2.13.0", bandwidth_bytes_per_s=2e10)
THERE = HERE.model_copy(update={"device_id": "cpu-there-1t", "bandwidth_bytes_per_s": 4e10})
CALL = Call({"R": 1024, "D": 1024}, "float32", "cpu")


def row(name, speedup=2.0, time_s=1e-3, outcome="correct", machine=HERE, dims=None, memory=1.0, gradient="none", hash=None, timed=True):
    one = swiglu.implementations[name]
    case = Case(dims=dims or {"R": 1024, "D": 1024}, gradient=gradient)
    timing = make_timing(time_s, candidate=make_samples(time_s), speedup=Interval(value=speedup, low=0.9 * speedup, high=1.1 * speedup))
    good = outcome == "correct" and timed
    return Record(
        kind="op", id=identity(name, speedup, case.id, machine.device_id, outcome),
        subject=Subject(problem="swiglu", problem_hash=swiglu.hash, implementation=name, candidate_hash=hash or candidate_hash(one.source), language=one.language),
        case=case, machine=machine, verdict=Verdict(outcome=outcome, trials=5, trials_passed=5),
        measurement=Measurement(timing=timing, memory=Memory(peak_bytes=int(1e6 * memory), baseline_peak_bytes=1_000_000, ratio=memory)) if good else Measurement(),
        provenance=Provenance(made="2026-11-29T00:00:00", harness="0"),
    )  # fmt: skip


def chooser(tmp_path, *rows, machine=HERE, **options) -> Measured:
    store = Store(tmp_path / "records")
    store.extend(rows)
    return Measured(store=store, machine=machine, **options)


def chosen(measured, call=CALL) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopcornWarning)
        return measured.choose(swiglu, call).name


def weighed_popcorn(measured):
    return {one.implementation: one for one in measured.explain(swiglu, CALL).weighed}["popcorn"]


def test_the_fastest_that_was_measured_here_is_picked(tmp_path):
    assert chosen(chooser(tmp_path, row("popcorn", 2.0), row("inductor", 1.5))) == "popcorn"
    assert chosen(chooser(tmp_path / "b", row("popcorn", 2.0), row("inductor", 2.5))) == "inductor"


def test_what_rests_on_a_case_eight_doublings_away_is_a_guess_and_torch_stays(tmp_path):
    measured = chooser(tmp_path, row("popcorn", 3.0))
    far, near = (Call({"R": size, "D": 1024}, "float32", "cpu") for size in (1024 * 2**10, 1024 * 2**4))
    assert chosen(measured, far) == "torch" and chosen(measured, near) == "popcorn"
    assert "rests on too little" in str(measured.explain(swiglu, far)) and "confidence" in measured.explain(swiglu, near).why


def test_a_record_of_a_noisy_machine_counts_as_little_as_it_may_be(tmp_path):
    doubtful = row("popcorn", 1.5)
    timing = doubtful.measurement.timing
    wide = timing.model_copy(
        update={"speedup": Interval(value=1.5, low=0.99, high=2.2), "control": timing.control.model_copy(update={"fit": False})}
    )
    unfit = doubtful.model_copy(update={"measurement": doubtful.measurement.model_copy(update={"timing": wide})})
    assert chosen(chooser(tmp_path, unfit)) == "torch" and chosen(chooser(tmp_path / "fit", doubtful)) == "popcorn"


def test_a_layout_that_differs_is_named_as_it_is_and_costs_confidence(tmp_path):
    made = row("popcorn", 2.0)
    sliced = made.model_copy(update={"case": made.case.model_copy(update={"layout": "sliced"})})
    weighed = weighed_popcorn(chooser(tmp_path, sliced))
    assert weighed.remarks == ("measured sliced, the call is contiguous",) and weighed.confidence == pytest.approx(0.8)


def test_torch_carries_out_what_no_other_does_faster(tmp_path):
    assert chosen(chooser(tmp_path, row("popcorn", 0.8))) == "torch"


def test_what_was_not_shown_to_be_right_for_the_class_is_never_picked(tmp_path):
    measured = chooser(tmp_path, row("popcorn", 5.0))
    assert chosen(measured, Call(CALL.dims, "bfloat16", "cpu")) == "torch"
    assert chosen(measured, Call(CALL.dims, "float32", "cpu", gradient=True)) == "torch"


def test_one_wrong_record_of_the_class_bars_an_implementation(tmp_path):
    measured = chooser(tmp_path, row("popcorn", 5.0), row("popcorn", outcome="wrong_values", dims={"R": 7, "D": 9}))
    assert chosen(measured) == "torch"
    assert "shows it wrong" in str(measured.explain(swiglu, CALL))


def test_records_of_another_text_of_the_implementation_say_nothing(tmp_path):
    assert chosen(chooser(tmp_path, row("popcorn", 5.0, hash="0" * 16))) == "torch"


def test_records_of_sizes_that_the_op_does_not_have_say_nothing(tmp_path):
    """The declaration was changed since, and not the reference's text."""
    renamed = row("popcorn", dims={"R": 4096, "D": 1024, "S": 16})
    assert "not shown to be right" in weighed_popcorn(chooser(tmp_path, renamed)).refused


def test_between_measured_cases_the_speedup_is_interpolated(tmp_path):
    small, large = {"R": 256, "D": 1024}, {"R": 4096, "D": 1024}
    measured = chooser(tmp_path, row("popcorn", 1.0, dims=small), row("popcorn", 4.0, dims=large))
    weighed = weighed_popcorn(measured)
    assert weighed.speedup == pytest.approx(1.6), "1 ms of overhead against torch's 0.8 ms and 0.2 ms for each 256 rows"
    assert weighed.distance == 2 and 0 < weighed.confidence < 1


def times(overhead_s, per_row_s, rows):
    return overhead_s + per_row_s * rows


def test_a_small_call_stays_with_torch_where_the_times_tell_of_an_overhead_that_no_measured_case_shows(tmp_path):
    """popcorn: 40 µs and 10 ns a row; torch: 10 µs and 50 ns a row. They meet at 750 rows."""
    measured = []
    for rows in (1024, 4096, 65536):
        own_s, torch_s = times(40e-6, 10e-9, rows), times(10e-6, 50e-9, rows)
        assert torch_s > own_s
        measured.append(row("popcorn", torch_s / own_s, own_s, dims={"R": rows, "D": 64}))
    decide = chooser(tmp_path, *measured)
    picks = [chosen(decide, Call({"R": rows, "D": 64}, "float32", "cpu")) for rows in (16, 256, 2048, 16384, 1 << 20)]
    assert picks == ["torch", "torch", "popcorn", "popcorn", "popcorn"]


def test_no_speedup_is_expected_far_beyond_all_that_were_measured(tmp_path):
    small, large = {"R": 256, "D": 64}, {"R": 512, "D": 64}
    steep = chooser(tmp_path, row("popcorn", 1.0, 1e-6, dims=small), row("popcorn", 1.9, 1e-6, dims=large))
    told = {one.implementation: one for one in steep.explain(swiglu, Call({"R": 1 << 20, "D": 64}, "float32", "cpu")).weighed}["popcorn"]
    assert told.speedup <= 4.0


def test_records_of_the_nearest_device_serve_scaled_and_it_is_said_once(tmp_path):
    measured = chooser(tmp_path, row("popcorn", 3.0, time_s=1e-3, machine=THERE))
    with pytest.warns(PopcornWarning, match="another serve"):
        assert measured.choose(swiglu, CALL).name == "popcorn"
    with warnings.catch_warnings():
        warnings.simplefilter("error", PopcornWarning)
        measured.choose(swiglu, CALL)
    weighed = weighed_popcorn(measured)
    assert weighed.source == "nearest device" and weighed.confidence <= 0.5
    assert weighed.time_s == pytest.approx(2e-3)  # half the bandwidth


def test_another_version_of_torch_lowers_confidence_and_does_not_blind(tmp_path):
    measured = chooser(tmp_path, row("popcorn", 3.0), machine=HERE.model_copy(update={"torch": "2.14.0"}))
    with pytest.warns(PopcornWarning, match="other versions"):
        assert measured.choose(swiglu, CALL).name == "popcorn"
    assert weighed_popcorn(measured).confidence == pytest.approx(0.8)


def test_without_records_it_is_torch_and_says_what_would_give_some(tmp_path):
    measured = chooser(tmp_path)
    with pytest.warns(PopcornWarning, match="popcorn bench fill swiglu"):
        assert measured.choose(swiglu, CALL).name == "torch"
    text = str(measured.explain(swiglu, CALL))
    assert "popcorn bench fill swiglu --implementation popcorn --dtype float32" in text


def test_right_and_never_timed_is_not_picked_over_torch(tmp_path):
    measured = chooser(tmp_path, row("popcorn", timed=False))
    assert chosen(measured) == "torch"
    weighed = weighed_popcorn(measured)
    assert weighed.source == "roofline" and weighed.time_s == pytest.approx(3 * 1024 * 1024 * 4 / 2e10)


def test_policies_weigh_memory(tmp_path):
    rows = [row("popcorn", 2.0, memory=0.9), row("inductor", 1.2, memory=0.4)]
    assert chosen(chooser(tmp_path / "a", *rows, policy="least memory")) == "inductor"
    assert chosen(chooser(tmp_path / "b", *rows, policy="fastest under budget", budget_bytes=500_000)) == "inductor"
    assert chosen(chooser(tmp_path / "c", *rows, policy="fastest under budget", budget_bytes=10)) == "torch"


def test_new_records_are_seen_by_the_next_choice(tmp_path):
    measured = chooser(tmp_path)
    assert chosen(measured) == "torch"
    measured.store.append(row("popcorn", 2.0))
    assert chosen(measured) == "popcorn"


def test_a_call_goes_to_the_chosen_implementation_and_gives_the_references_answer(tmp_path):
    gate, up = torch.randn(8, 16), torch.randn(8, 16)
    swiglu.chooser = chooser(tmp_path, row("popcorn", 2.0, dims={"R": 8, "D": 32}))
    swiglu.forget()
    try:
        assert swiglu.specialize(gate, up) is swiglu.implementations["popcorn"].run
        torch.testing.assert_close(swiglu(gate, up), swiglu["torch"](gate, up))
        assert list(swiglu._plans.values()) == [swiglu.implementations["popcorn"].run]
    finally:
        swiglu.chooser = None
        swiglu.forget()


def test_the_list_of_warnings_is_closed():
    assert {notice.name for notice in Notice} == {"NO_RECORDS", "NEAREST_DEVICE", "OTHER_VERSIONS", "ROOFLINE"}
    assert dispatch.CHOOSER.policy == "fastest"


def test_a_warning_points_at_the_users_own_call(tmp_path):
    swiglu.chooser = chooser(tmp_path)
    swiglu.forget()
    try:
        with pytest.warns(PopcornWarning) as caught:
            swiglu(torch.randn(2, 4), torch.randn(2, 4))
        assert [warning.filename for warning in caught] == [__file__]
    finally:
        swiglu.chooser = None
        swiglu.forget()


def test_records_of_other_flags_or_whole_numbers_serve_nobody_and_those_of_another_eps_do(tmp_path):
    def of(op, scalars, dims):
        one = op.implementations["inductor"]
        made = row("popcorn", 3.0)
        subject = made.subject.model_copy(
            update={"problem": op.name, "problem_hash": op.hash, "implementation": "inductor", "candidate_hash": candidate_hash(one.source)}
        )
        return made.model_copy(update={"subject": subject, "case": Case(dims=dims, scalars=scalars)})

    attn, rms_norm = find_op("attn"), find_op("rms_norm")
    dims = {"B": 1, "H": 4, "T": 64, "K": 64, "G": 4}
    store = Store(tmp_path / "records")
    store.extend([of(attn, {"causal": True}, dims), of(rms_norm, {"eps": 1e-6}, {"R": 64, "D": 64})])
    measured = Measured(store=store, machine=HERE)

    def weighed(op, dims, **scalars):
        call = Call(dims, "float32", "cpu", {**op.signature.scalars, **scalars})
        return {one.implementation: one for one in measured.explain(op, call).weighed}["inductor"]

    assert weighed(attn, dims).speedup == pytest.approx(3.0)
    assert "causal=False" in weighed(attn, dims, causal=False).refused
    exact, other = weighed(rms_norm, {"R": 64, "D": 64}), weighed(rms_norm, {"R": 64, "D": 64}, eps=1e-3)
    assert exact.remarks == () and any("eps" in remark for remark in other.remarks)
    assert other.speedup == pytest.approx(3.0) and other.confidence == pytest.approx(0.8 * exact.confidence)


def test_a_condemned_record_is_no_evidence_for_or_against(tmp_path):
    wrong, right = row("popcorn", outcome="cheated", dims={"R": 8, "D": 8}), row("popcorn", 2.0)
    measured = chooser(tmp_path, wrong, right)
    assert chosen(measured) == "torch"
    Store(tmp_path / "records").ledger.judge(wrong.id, "condemned", "the clock check was disturbed")
    assert chosen(Measured(store=Store(tmp_path / "records"), machine=HERE)) == "popcorn"
    Store(tmp_path / "records").ledger.judge(right.id, "condemned", "it was not fit")
    assert chosen(Measured(store=Store(tmp_path / "records"), machine=HERE)) == "torch"


def test_without_records_of_one_s_own_those_that_ship_serve_and_one_s_own_replace_them(tmp_path, monkeypatch):
    from popcorn.records import shipped
    from popcorn.records.tables import write_table

    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "reports")
    write_table([row("popcorn", 2.0)], tmp_path / "reports" / "here.parquet")
    assert chosen(Measured(machine=HERE)) == "popcorn"
    slower = row("popcorn", 0.5)
    default_store().append(slower.model_copy(update={"provenance": slower.provenance.model_copy(update={"made": "2027-01-01T00:00:00"})}))
    assert chosen(Measured(machine=HERE)) == "torch"
