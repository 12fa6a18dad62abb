"""`popcorn problems`: a table that fits, JSON that reads back, an error with a next step."""

import json

import pytest
from typer.testing import CliRunner

from popcorn.cli.problems import app
from popcorn.errors import UnknownProblem

run = CliRunner().invoke


def test_the_list_fits_a_hundred_columns_and_names_every_problem() -> None:
    shown = run(app, ["list"])
    assert shown.exit_code == 0 and max(len(line) for line in shown.output.splitlines()) <= 100
    for heading in ("id", "name", "domain", "sizes", "backward", "popcorn/L1/29", "original/L3/44"):
        assert heading in shown.output


def test_the_list_as_json_can_be_narrowed() -> None:
    rows = json.loads(run(app, ["list", "--variant", "popcorn", "--level", "1", "--json"]).output)
    assert {row["level"] for row in rows} == {1} and {row["variant"] for row in rows} == {"popcorn"}
    row = next(row for row in rows if row["id"] == "popcorn/L1/29")
    assert row["differentiable"] is True and row["domain"] == "distributed" and row["dims"]["D"]["align"] == 8


def test_show_prints_the_statement_with_bounds_and_not_the_timed_size() -> None:
    shown = run(app, ["show", "popcorn/L1/29"]).output
    assert "class Model" in shown and "B to move" not in shown.splitlines()[0]
    assert "GB to move in float32" in shown and "16384" not in shown


def test_show_as_json_holds_the_statement_and_both_ends_of_the_bounds() -> None:
    told = json.loads(run(app, ["show", "original/L1/1", "--json"]).output)
    assert told["bounds"]["flops"] == [2 * 4096**3, 2 * 4096**3] and "get_inputs" in told["statement"]


def test_a_foreign_file_is_shown_as_it_is_without_bounds(tmp_path) -> None:
    text = "class Model: ...\ndef get_inputs():\n    return []\n"
    (tmp_path / "a.py").write_text(text)
    shown = run(app, ["show", str(tmp_path / "a.py")]).output
    assert shown.startswith(text) and "not declared" in shown


def test_an_unknown_problem_is_an_error_with_a_next_step() -> None:
    failed = run(app, ["show", "popcorn/L9/9"])
    assert failed.exit_code != 0 and isinstance(failed.exception, UnknownProblem)
    with pytest.raises(UnknownProblem, match="popcorn problems list"):
        run(app, ["show", "popcorn/L9/9"], catch_exceptions=False)
