"""Samples on the bench that all tests share; those that nobody times are judged several at once, as in `popcorn audit`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from popcorn.audit.battery import Answer, run
from popcorn.records.store import Store
from popcorn.worker.bench import Bench


@pytest.fixture(scope="package")
def gpu_bench() -> Iterator[Bench]:
    with Bench("cuda") as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """Sample → its answer, of all that the chosen tests of this file ask for; asked once, also where that fails."""
    chosen = [
        item.callspec.params["sample"] for item in request.session.items if item.path == request.path and not item.get_closest_marker("gpu")
    ]
    return {one.sample.name: one for one in run(chosen, bench, Store(tmp_path_factory.mktemp("records")), "cpu")}
