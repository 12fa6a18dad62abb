"""The track follows the census."""

import pytest

from popcorn.schema.measurement import Kernel, Launches
from popcorn.verify.track import with_track


@pytest.mark.parametrize("share,track", [(1.0, "custom"), (0.5, "custom"), (0.49, "any"), (0.0, "any")])
def test_on_a_gpu_the_share_of_own_kernels_decides(share: float, track: str) -> None:
    assert with_track(Launches(kernels=2, custom_share=share, source="cupti"), None).track == track


def test_on_a_cpu_operators_are_held_against_the_warm_time() -> None:
    rows = (Kernel(name="aten::mm", launches=1, time_s=9e-4, library=True),)
    library = with_track(Launches(kernels=1, breakdown=rows, source="dispatch"), 1e-3)
    assert library.track == "any" and library.custom_share == pytest.approx(0.1)
    assert with_track(Launches(kernels=1, breakdown=rows, source="dispatch"), 1e-2).track == "custom"


def test_a_busy_moment_later_makes_no_kernel_ones_own() -> None:
    rows = (Kernel(name="aten::_softmax", launches=1, time_s=2.76e-3, library=True),)
    told = with_track(Launches(kernels=1, breakdown=rows, source="dispatch", call_s=2.8e-3), 6.76e-3)
    assert told.track == "any" and told.custom_share == pytest.approx(0.0143, abs=1e-3)


def test_work_that_torch_never_sees_is_custom() -> None:
    assert with_track(Launches(source="dispatch", reason="outside torch"), 1e-3).track == "custom"


def test_without_a_census_there_is_no_track_but_a_reason() -> None:
    told = with_track(Launches(source="cupti", reason="no record"), None)
    assert told.track is None and told.track_reason == "no record"
