"""What the toolchain's tests share: a cache of their own, and a child half whose requests go straight to the parent half."""

import shutil
from collections.abc import Iterator

import pytest

from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.result import BuildResult

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed; CUDA sources cannot be compiled here")


@pytest.fixture
def cache(tmp_path) -> BuildCache:
    return BuildCache(tmp_path / "builds")


class Intercepted:
    """load_inline as a candidate sees it, and what the parent answered."""

    def __init__(self, cache: BuildCache) -> None:
        self.cache = cache
        self.results: list[BuildResult] = []

    def ask(self, request: dict) -> dict:
        from popcorn.toolchain.inline import answer, build_inline

        result = build_inline(request, self.cache, timeout_s=120)
        self.results.append(result)
        return answer(result)


@pytest.fixture
def intercepted(cache, monkeypatch) -> Iterator[Intercepted]:
    import torch.utils.cpp_extension as extension

    from popcorn.toolchain.inline import intercept

    monkeypatch.setattr(extension, "load_inline", extension.load_inline)  # put back after the test
    monkeypatch.setattr(extension, "load", extension.load)
    seen = Intercepted(cache)
    intercept(seen.ask)
    yield seen
