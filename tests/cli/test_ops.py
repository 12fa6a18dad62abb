"""`popcorn ops` and `popcorn bench`: what they list, explain, show, compare and merge."""

import pytest
from typer.testing import CliRunner

from popcorn.cli.main import app
from popcorn.cli.rerun import request_of
from popcorn.errors import BadRecord
from popcorn.ops.registry import list_ops
from popcorn.records.store import Store
from tests.test_dispatch import row


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code == code, result.output
    return result.output


def test_ops_are_listed_with_their_signatures(cache):
    lines = run("ops").splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list_ops()
    assert "x (... D), weight (D), eps=1e-06 → (... D)" in run("ops", "rms_norm")


def test_one_op_shows_who_carries_it_out_and_who_cannot_and_why(cache):
    shown = run("ops", "swiglu")
    words = [line.split() for line in shown.splitlines()]
    assert ["popcorn", "cpp", "cpu"] in words and ["torch", "torch", "cpu,", "cuda"] in words and max(map(len, shown.splitlines())) <= 100
    assert "liger" in shown


def test_an_explanation_names_what_would_give_data(cache):
    shown = run("ops", "swiglu", "--explain", "R=64 D=128", "--backward")
    assert shown.startswith("swiglu: torch (no other implementation may be picked)")
    assert "popcorn bench fill swiglu --implementation popcorn --dtype float32" in shown and "with gradients" in shown


def test_sizes_that_the_op_does_not_have_are_refused(cache):
    assert "R, D" in run("ops", "swiglu", "--explain", "Z=3", code=2)
    assert "R, D" in run("bench", "run", "swiglu", "R=3", code=2)


def test_view_diff_and_merge_work_on_folders_of_records(cache):
    one, other = Store(cache / "a" / "records"), Store(cache / "b" / "records")
    one.append(row("popcorn", time_s=1.0))
    other.append(row("popcorn", 2.5, time_s=2.0))
    assert "2.00×" in run("bench", "diff", str(one.folder), str(other.folder), code=1)
    assert "1 records added" in run("bench", "merge", str(one.folder))
    assert "0 records added" in run("bench", "merge", str(one.folder))
    assert "swiglu" in run("bench", "view") and "R1024-D1024-fp32" in run("bench", "view", "swiglu")


def test_fill_with_nothing_to_measure_says_which_package_is_missing(cache, bench, monkeypatch):
    import popcorn.bench

    monkeypatch.setattr(popcorn.bench, "shared_bench", lambda device: bench)
    shown = run("bench", "fill", "swiglu", "--implementation", "liger", "--limit", "1", code=1)
    assert "left out: swiglu liger" in shown and ("popcornbench[liger]" in shown or "runs on cuda only" in shown)


def test_a_row_of_the_library_can_be_asked_again_with_its_seed(cache):
    request = request_of(row("popcorn"))
    assert (request.implementation, request.problem.id, request.device) == ("popcorn", "swiglu", "cpu")
    with pytest.raises(BadRecord, match="another text now"):
        request_of(row("popcorn", hash="0" * 16))
