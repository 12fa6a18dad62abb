"""What a capture sees of a piece of code, and what is measured of it afterwards."""

import threading

import pytest
import torch

import popcorn
from popcorn.bench.fill import workload_rows
from popcorn.devices.probe import probe
from popcorn.errors import BadRecord, MissingFile, PopcornError
from popcorn.ops import rms_norm, softmax
from popcorn.ops.capturing import read_workload

X, WEIGHT = torch.randn(2, 4, 33), torch.randn(33)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    from tests.ops.choosing import FirstAccepting

    for op in (rms_norm, softmax):
        monkeypatch.setattr(op, "chooser", FirstAccepting())
        op.forget()
    yield
    for op in (rms_norm, softmax):
        op.forget()


def test_calls_are_counted_by_case_and_come_back_from_a_file(tmp_path):
    with popcorn.capture() as w:
        for _ in range(3):
            rms_norm(X, WEIGHT, eps=1e-5)
        rms_norm(X.requires_grad_(), WEIGHT)
        softmax(X.detach().bfloat16())
    X.requires_grad_(False)
    rms_norm(X, WEIGHT)  # after the end: not seen
    read = read_workload(w.save(tmp_path / "w.json"))
    assert read == w.workload
    assert [(one.op, one.case.id, one.device, one.count) for one in read.calls] == [
        ("rms_norm", "R8-D33-fp32-eps=1e-05", "cpu", 3),
        ("rms_norm", "R8-D33-fp32-eps=1e-06-grad", "cpu", 1),
        ("softmax", "R8-D33-bf16", "cpu", 1),
    ]


def test_what_no_record_can_answer_is_said_with_its_reason():
    with popcorn.capture() as w:
        rms_norm(X[:0], WEIGHT)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            softmax(X)
    assert w.workload.calls == ()
    assert {(one.op, one.reason.split()[1]) for one in w.workload.left_out} == {("rms_norm", "empty"), ("softmax", "autocast")}


def test_results_and_errors_are_those_of_the_op():
    with popcorn.capture() as w:
        assert torch.equal(rms_norm(X, WEIGHT), rms_norm["popcorn"](X, WEIGHT))
        with pytest.raises(TypeError, match="missing"):
            rms_norm(X)
    assert sum(one.count for one in w.workload.calls) == 1


def test_calls_of_other_threads_are_seen_and_one_capture_is_open_at_a_time():
    with popcorn.capture() as w:
        threads = [threading.Thread(target=softmax, args=(X,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(PopcornError, match="another"), popcorn.capture():
            pass
    assert w.workload.calls[0].count == 4
    with popcorn.capture():
        pass


def test_exactly_the_captured_cases_are_planned(tmp_path):
    with popcorn.capture() as w:
        rms_norm(X, WEIGHT)
        softmax(X)
    rows = workload_rows(w.workload, probe("cpu"), ["torch", "popcorn"])
    assert sorted((row.op.name, row.implementation, row.planned.case.dims["R"]) for row in rows) == [
        ("rms_norm", "popcorn", 8), ("rms_norm", "torch", 8), ("softmax", "popcorn", 8), ("softmax", "torch", 8),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[", "{}", '{"workload_version": 2}', '{"calls": [{"op": 1}]}', "\x00"])
def test_a_file_that_is_no_workload_is_said(tmp_path, text):
    (tmp_path / "w.json").write_text(text)
    if text == "{}":
        assert read_workload(tmp_path / "w.json").calls == ()
    else:
        with pytest.raises(BadRecord, match="no workload"):
            read_workload(tmp_path / "w.json")
    with pytest.raises(MissingFile):
        read_workload(tmp_path / "nothing.json")
