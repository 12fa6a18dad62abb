"""What a record's writer changes of what was found."""

import pytest

from popcorn.schema.record import Build
from popcorn.schema.verdict import Diagnostic, Verdict
from popcorn.worker.writing import in_its_file


@pytest.mark.parametrize("suffix", ["c", "cpp", "cu"])
def test_messages_of_a_compiler_name_the_file_that_was_given(suffix):
    found = Diagnostic(file=f"kernel.{suffix}", line=4, message="expected a ;"), Diagnostic(file="popcorn_kernel.h", line=1), Diagnostic()
    said = f"kernel.{suffix}:4: expected a ; near my_kernel.{suffix}:2"
    verdict, build = in_its_file(Verdict(outcome="compile_error", reason=said), Build(reason=said, diagnostics=found), f"norm.{suffix}")
    assert verdict.reason == build.reason == f"norm.{suffix}:4: expected a ; near my_kernel.{suffix}:2"
    assert [one.file for one in build.diagnostics] == [f"norm.{suffix}", "popcorn_kernel.h", None]
    assert in_its_file(Verdict(outcome="correct"), Build(), "norm.c") == (Verdict(outcome="correct"), Build())
