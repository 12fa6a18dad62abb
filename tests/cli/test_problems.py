"""`popcorn problems`: a table that fits, JSON that reads back, an error with a next step."""

import json
import re

import pytest
from typer.testing import CliRunner

from popcorn.cli.problems import app
from popcorn.errors import UnknownProblem
from popcorn.suites.importing import shelf
from popcorn.suites.problems import find_problem, list_problems
from tests.suites.importing import samples
from tests.suites.importing.samples import write

run = CliRunner().invoke


def test_asked_for_nothing_the_list_counts_what_there_is_and_fits_a_screen() -> None:
    shown = run(app, ["list"], env={"COLUMNS": "80"})
    lines = shown.output.splitlines()
    assert shown.exit_code == 0 and len(lines) < 25 and max(map(len, lines)) <= 80
    counts = {
        tuple(words[:2]): int(count)
        for *words, count in re.findall(r"^(popcorn|original) +(\d) [a-z ]+? +(\d+) ", shown.output, re.MULTILINE)
    }
    ids = [one.id for one in list_problems()]
    assert len(counts) == 8 and all(
        count == sum(one.startswith(f"{variant}/L{level}/") for one in ids) for (variant, level), count in counts.items()
    )
    assert f"in all {len(ids)}" in " ".join(shown.output.split()) and "--variant popcorn --level 1" in shown.output


def test_the_whole_list_fits_a_hundred_columns_and_names_every_problem() -> None:
    shown = run(app, ["list", "--all"])
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


def test_what_show_adds_to_a_statement_fits_a_hundred_columns() -> None:
    added = [line for line in run(app, ["show", "original/L1/36"]).output.splitlines() if line.startswith("# ")]
    assert any("popcorn_forward" in line for line in added) and max(map(len, added)) <= 100


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


def test_an_import_prints_a_table_and_the_next_step(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    folder = write(tmp_path / "kb", {"level1/1_a.py": samples.SOFTMAX, "level1/2_b.py": "def x(:"})
    done = run(app, ["import", "kernelbench", str(folder), "--device", "cpu"], env={"COLUMNS": "80"})
    assert done.exit_code == 0 and max(len(line) for line in done.output.splitlines()) <= 80
    assert "cannot run" in done.output and "2 files; 1 run" in done.output and "popcorn eval kernelbench/L1/1 FILE" in done.output
    assert "kernelbench/L1/1" in run(app, ["list", "--suite", "kernelbench"]).output
    assert "imported: kernelbench" in run(app, ["list", "--level", "4"]).output


def test_an_import_names_what_it_left_out_and_what_the_same_name_meant_before(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    first = write(
        tmp_path / "five",
        {"1_a.py": samples.SOFTMAX, "2_b.py": samples.SOFTMAX + "\n", "5_torn.py": "def f(:", "tools/run.py": "import os"},
    )
    done = run(app, ["import", "auto", str(first), "--device", "cpu"], env={"COLUMNS": "100"})
    assert done.exit_code == 0 and "Left out, without a class Model: 5_torn.py, run.py." in done.output and "--name" not in done.output
    version = shelf.get("kernelbench").version
    second = write(tmp_path / "two", {"1_c.py": samples.SOFTMAX.replace("dim=1", "dim=-1")})
    said = " ".join(run(app, ["import", "auto", str(second), "--device", "cpu"], env={"COLUMNS": "100"}).output.split())
    assert f"kernelbench/… was version {version} before (2 files), which is kernelbench@{version}/… now; --name gives a set" in said
    assert find_problem(f"kernelbench@{version}/2").name == "b"


def test_communication_on_one_process_is_skipped_with_an_exit_code_of_its_own() -> None:
    from popcorn.cli.main import app as commands

    done = run(commands, ["ranks", "popcorn/L2/2", "--world", "1", "--device", "cpu"])
    assert done.exit_code == 40 and "skipped" in done.output and "needs 2 or more processes" in done.output
