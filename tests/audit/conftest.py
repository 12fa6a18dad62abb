"""One bench for all samples."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from popcorn.records.store import Store
from popcorn.worker.bench import Bench


@pytest.fixture(scope="package")
def bench() -> Iterator[Bench]:
    with Bench("cpu") as made:
        yield made


@pytest.fixture(scope="package")
def gpu_bench() -> Iterator[Bench]:
    with Bench("cuda") as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)
