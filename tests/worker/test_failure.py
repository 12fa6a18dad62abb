"""What a candidate's exception becomes."""

import torch

from popcorn.worker.failure import failure_of


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
