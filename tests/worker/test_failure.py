"""What a candidate's exception becomes."""

import pytest
import torch

from popcorn.worker.child import _answer
from popcorn.worker.failure import Failed, failure_of
from popcorn.worker.oracle import Oracle


def test_who_is_refused_a_file_reads_where_files_may_be_made() -> None:
    failed = failure_of(PermissionError(13, "Permission denied", "/tmp/build"), "candidate.py")
    assert failed.outcome == "runtime_error"
    assert "/tmp/build" in failed.reason and "tempfile.gettempdir()" in failed.reason
    assert "gettempdir" not in failure_of(ValueError("no"), "candidate.py").reason


def test_who_asks_for_named_shared_memory_reads_what_is_shared_without_a_name() -> None:
    denied = RuntimeError("unable to open shared memory object </torch_1_2_0> in read-write mode: Permission denied (13)")
    assert "mmap.mmap(-1, n)" in failure_of(denied, "candidate.py").reason


def test_who_asks_for_a_gpu_where_there_is_none_reads_so() -> None:
    for error in (AssertionError("input must be a CUDA tensor"), RuntimeError("0 active drivers ([]). There should only be one.")):
        assert ("the device chosen is a CPU" in failure_of(error, "candidate.py").reason) is not torch.cuda.is_available()
    assert "a CPU" not in failure_of(ValueError("no"), "candidate.py").reason


class Reads(Oracle):
    """An oracle whose reference fails with CUDA's code."""

    def __init__(self, code: int | None):
        self.code = code

    def do_trial(self, _):
        try:
            error = torch.AcceleratorError("CUDA error")
            error.error_code = self.code
            raise error
        except RuntimeError as why:
            raise Failed("invalid_reference", "the reference fails: CUDA error") from why


@pytest.mark.parametrize(
    ("code", "outcome"), [(214, "harness_error"), (100, "harness_error"), (700, "invalid_reference"), (None, "invalid_reference")]
)
def test_a_gpu_that_failed_under_the_reference_is_our_fault_and_a_wrong_address_is_the_reference_s(code, outcome):
    assert _answer(Reads(code), {"do": "trial"})["failed"]["outcome"] == outcome
