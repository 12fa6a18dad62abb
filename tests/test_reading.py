"""Files that people write: read as they are, or refused with a reason that says what to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.errors import BadCandidate, BadSweep, MissingFile
from popcorn.reading import MAX_TOML_BYTES, read_kernel, read_toml


def refused(why: str) -> BadSweep:
    return BadSweep(f"no sweep: {why}")


def test_a_toml_file_with_a_byte_order_mark_is_read(tmp_path):
    (tmp_path / "a.toml").write_bytes(b'\xef\xbb\xbfname = "a"\r\n')
    assert read_toml(tmp_path / "a.toml", refused) == {"name": "a"}


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"a = ", "Invalid value"), (b"\xff\xfe", "utf-8"), (b"a = " + b"[" * 100_000, "nested"), (b"#" * (MAX_TOML_BYTES + 1), "at most")],
)
def test_a_toml_file_that_is_none_is_refused_by_the_callers_own_error(tmp_path, content, why):
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(BadSweep, match=why):
        read_toml(tmp_path / "a.toml", refused)


def test_a_folder_and_a_missing_file_are_refused_by_the_callers_own_error(tmp_path):
    for path, why in ((tmp_path, "directory"), (tmp_path / "none.toml", "No such file")):
        with pytest.raises(BadSweep, match=why):
            read_toml(path, refused)


@given(st.binary(max_size=200))
def test_whatever_a_kernel_file_holds_is_its_text_or_one_of_two_errors(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "kernel.c"
    path.write_bytes(content)
    try:
        assert isinstance(read_kernel(path, 150), str)
    except BadCandidate as error:
        assert "is not text" in str(error) or "150" in str(error)


def test_a_kernel_that_is_no_file_is_missing(tmp_path):
    for path, why in ((tmp_path, "is not a file"), (tmp_path / "none.c", "does not exist")):
        with pytest.raises(MissingFile, match=why):
            read_kernel(path)
