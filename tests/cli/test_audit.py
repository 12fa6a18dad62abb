"""`popcorn audit`, `popcorn check` and `popcorn judge` as a user calls them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from popcorn.audit.samples import FOLDER
from popcorn.cli.audit import chosen
from popcorn.cli.main import app
from popcorn.errors import MissingFile
from popcorn.schema.record import Record


def test_the_audit_prints_two_numbers_and_leaves_with_zero() -> None:
    done = CliRunner().invoke(app, ["audit", "--device", "cpu", "--only", "zeros", "--only", "double_inside", "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (told["cheats_tried"], told["cheats_caught"], told["honest_tried"], told["honest_accused"]) == (1, 1, 1, 0)


def test_a_pattern_that_fits_no_sample_is_said() -> None:
    with pytest.raises(MissingFile, match="no sample is called nothing"):
        chosen(["nothing"], False)


def test_gpu_samples_are_left_out_on_a_cpu() -> None:
    assert not any(one.gpu for one in chosen([], False))
    assert any(one.gpu for one in chosen([], True))


def test_a_limit_takes_the_same_few_of_each_kind_and_those_that_need_a_gpu_first() -> None:
    on_gpu, again, on_cpu = (chosen([], gpu, 20) for gpu in (True, True, False))
    assert [one.name for one in on_gpu] == [one.name for one in again]
    for kind in ("evil", "honest"):
        need = {one.name for one in chosen([], True) if one.kind == kind and one.gpu}
        assert need <= {one.name for one in on_gpu if one.kind == kind}
        assert sum(one.kind == kind for one in on_gpu) == sum(one.kind == kind for one in on_cpu) == 20


def test_what_was_left_out_is_said() -> None:
    done = CliRunner().invoke(app, ["audit", "--device", "cpu", "--only", "z*s", "--limit", "1"])
    assert (
        done.exit_code == 0 and "1 of 1 cheats caught" in done.stdout and re.search(r"1 of \d\d+ cheats and 0 of \d\d+ honest", done.stdout)
    )


def test_ctrl_c_shows_what_was_found_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    from popcorn.audit import battery

    evaluate, seen = battery.evaluate, []

    def one_alone(*given: Any) -> Record:
        if seen:
            raise KeyboardInterrupt
        seen.append(1)
        return evaluate(*given)

    monkeypatch.setattr(battery, "evaluate", one_alone)
    done = CliRunner().invoke(app, ["audit", "--device", "cpu", "--only", "zeros", "--only", "fork_bomb"])
    assert done.exit_code == 130
    assert "1 of 1 cheats caught" in done.stdout


def test_check_refuses_what_no_honest_kernel_needs_and_only_that() -> None:
    evil = CliRunner().invoke(app, ["check", str(FOLDER / "evil" / "patched_block.py"), "--json"])
    honest = CliRunner().invoke(app, ["check", str(FOLDER / "honest" / "c_openmp.c")])
    assert evil.exit_code == 1 and "harness" in {one["rule"] for one in json.loads(evil.stdout)}
    assert honest.exit_code == 0


def test_check_says_what_keeps_a_text_from_being_a_candidate(tmp_path: Path) -> None:
    for name, text, told in (
        ("none.py", "import torch\n", "cannot be judged yet:"),
        ("fenced.py", "```python\nclass ModelNew:\n    pass\n```\n", "keep what is between"),
        ("other.cpp", "int f(void) { return 0; }\n", "does not define popcorn_forward"),
        ("answer.md", "```python\n```\n", "the extension .md is not one of a kernel file"),
    ):
        (tmp_path / name).write_text(text)
        done = CliRunner().invoke(app, ["check", str(tmp_path / name)])
        assert told in " ".join((done.output or str(done.exception)).split()) or told in str(done.exception), done.output


def test_a_judgement_on_a_record_that_is_not_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["judge", "0123", "suspected", "--evidence", "x"])
    assert done.exit_code != 0
    assert not list(tmp_path.rglob("judgements.jsonl"))
