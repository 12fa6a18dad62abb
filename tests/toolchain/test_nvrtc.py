import pytest
import torch.cuda._utils as utils

from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.nvrtc import intercept_nvrtc
from popcorn.toolchain.triton_cache import private_caches


@pytest.fixture
def compiler(monkeypatch):
    """Stands in for NVRTC, which needs a driver: what is tested is what we put around it."""
    calls = []

    def compile_kernel(source, name, *args, **kwargs):
        calls.append(source)
        if "bad" in source:
            raise RuntimeError(f'Kernel compilation failed:\n{name}.cu(3): error: identifier "bad" is undefined\n')
        return source.encode() + b"\0\1", f"_Z{name}"

    monkeypatch.setattr(utils, "_nvrtc_compile", compile_kernel)
    return calls


def test_each_compile_is_noted_and_the_same_text_is_compiled_once(compiler, tmp_path):
    notes = []
    intercept_nvrtc(notes.append, tmp_path)
    for _ in range(2):
        assert utils._nvrtc_compile("text", "k") == (b"text\0\1", "_Zk")
    utils._nvrtc_compile("text", "k", "90")
    assert compiler == ["text", "text"]
    assert [(row["name"], row["cached"]) for row in notes] == [("k", False), ("k", True), ("k", False)]
    assert notes[0]["key"] == notes[1]["key"] != notes[2]["key"]
    assert all(row["seconds"] >= 0 and row["error"] is None for row in notes)


def test_a_half_written_binary_is_compiled_again(compiler, tmp_path):
    intercept_nvrtc(lambda row: None, tmp_path)
    utils._nvrtc_compile("text", "k")
    next(tmp_path.glob("*.bin")).write_bytes(b"te")
    assert utils._nvrtc_compile("text", "k")[0] == b"text\0\1"
    assert len(compiler) == 2


def test_an_error_is_typed_and_has_its_line(compiler):
    notes = []
    intercept_nvrtc(notes.append)
    with pytest.raises(CompileFailed) as caught:
        utils._nvrtc_compile("bad", "k")
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("k.cu", 3)
    assert "undefined" in notes[0]["error"]


def test_candidates_never_share_a_cache(tmp_path):
    one, other = private_caches(tmp_path, "aa11"), private_caches(tmp_path, "bb22")
    assert set(one.values()).isdisjoint(other.values())
    assert one == private_caches(tmp_path, "aa11")
    assert (tmp_path / "aa11" / "triton").is_dir() and one["TRITON_CACHE_DIR"].endswith("aa11/triton")
    with pytest.raises(ValueError, match="not a hash"):
        private_caches(tmp_path, "../aa")
