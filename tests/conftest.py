"""What tests share: one bench on the CPU with a cache of its own, for all that need real processes."""

import os
from collections.abc import Iterator

import pytest

from popcorn.worker.bench import Bench


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `-m`, tests that need a GPU are skipped where there is none, with that reason; `-m gpu` insists."""
    for_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if config.option.markexpr or not for_gpu:
        return
    import torch

    if not torch.cuda.is_available():
        for item in for_gpu:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU, and there is none; `pytest -m gpu` insists"))


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> Iterator[Bench]:
    before = os.environ.get("POPCORN_CACHE_DIR")
    os.environ["POPCORN_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    try:
        with Bench("cpu") as made:
            made.nursery.wait_ready()
            yield made
    finally:
        if before is None:
            os.environ.pop("POPCORN_CACHE_DIR", None)
        else:
            os.environ["POPCORN_CACHE_DIR"] = before


@pytest.fixture(scope="session", autouse=True)
def nothing_ships(tmp_path_factory):
    """What dispatch would choose by the records that ship depends on the machine: tests see none but their own."""
    from popcorn.records import shipped

    shipped.FOLDER = tmp_path_factory.mktemp("reports")
