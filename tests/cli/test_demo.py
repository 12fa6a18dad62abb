"""The demo: its candidates are what they say, and its exit code tells the truth. The real run is `make demo`."""

import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import typer

from popcorn.cli import demo as demo_command
from popcorn.cli.demo import as_expected, request_of
from popcorn.demo.samples import SAMPLES
from popcorn.schema.record import Record
from popcorn.suites.problems import facts, find_problem
from popcorn.toolchain.languages import check_contract, detect_language
from tests.cli.command import ROOT, popcorn
from tests.made_records import make_record


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_every_sample_keeps_the_contract_of_its_language(sample, gpu):
    request = request_of(sample, "auto", 1.0, gpu)
    check_contract(request.source, request.language, name=request.name)
    assert request.language == {".c": "c", ".cu": "cuda", ".py": "torch"}[sample.path(gpu).suffix]
    assert sample.path(gpu).suffix != (".c" if gpu else ".cu")
    assert facts(find_problem(sample.problem)).differentiable or not sample.backward
    assert request.trials >= 5


def test_there_are_a_plain_a_faster_a_gradient_one_and_two_cheats():
    assert [sample.honest for sample in SAMPLES].count(False) == 2
    assert any(sample.backward for sample in SAMPLES if sample.honest)
    assert any(sample.gpu_file for sample in SAMPLES if sample.honest)
    assert len({sample.problem for sample in SAMPLES}) in (2, 3)


def test_the_candidates_ship_in_the_wheel():
    import tomllib

    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["popcorn"]
    shipped = {path for pattern in patterns for path in (ROOT / "popcorn").glob(pattern)}
    assert {sample.path(gpu) for sample in SAMPLES for gpu in (False, True)} <= shipped


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
def test_the_cuda_sample_compiles(tmp_path):
    from popcorn.toolchain.build import build
    from popcorn.toolchain.cache import BuildCache

    path = SAMPLES[1].path(gpu=True)
    built = build(path.read_text(), detect_language(path, path.read_text()), path.name, BuildCache(tmp_path), "cuda", "9.0", 120)
    assert built.ok, built.reason


def run_demo(monkeypatch, tmp_path, outcomes: list[str], **options) -> tuple[int, list[Record]]:
    """The command with its evaluations played from a script."""
    made = [make_record(outcome, made=f"2025-11-29T10:00:0{number}+00:00") for number, outcome in enumerate(outcomes)]
    playing = iter(made)
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("popcorn.evaluate.evaluate", lambda *_: next(playing))
    monkeypatch.setattr("popcorn.worker.bench.Bench", lambda device: nullcontext(SimpleNamespace(cuda=device == "cuda")))
    with pytest.raises(typer.Exit) as left:
        demo_command.demo(**{"device": "cpu", "budget": 1.0, "json": False, **options})
    return left.value.exit_code, made


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["correct", "correct", "correct", "cheated", "cheated"], 0),
        (["correct", "correct", "correct", "wrong_values", "cheated"], 1),
        (["correct", "cheated", "correct", "cheated", "cheated"], 1),
        (["correct", "correct", "correct", "correct", "cheated"], 1),
        (["correct", "correct", "correct", "cheated", "harness_error"], 1),
        (["harness_error", "correct", "correct", "cheated", "cheated"], 1),
    ],
)
def test_the_exit_code_is_0_only_when_all_is_as_expected(monkeypatch, tmp_path, capsys, outcomes, code):
    left, made = run_demo(monkeypatch, tmp_path, outcomes)
    assert left == code
    out = capsys.readouterr().out
    assert ("NO" in out) == (code == 1)
    for record in made:
        assert record.id in out
    assert f"popcorn rerun {made[1].id}" in out and "popcorn problems list" in out


def test_the_demo_ends_with_a_site_of_its_results(monkeypatch, tmp_path, capsys):
    from popcorn.records.store import default_store

    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    default_store().append(make_record("cheated", name := "2025-11-29T09:00:00+00:00"))
    run_demo(monkeypatch, tmp_path, ["correct", "correct", "correct", "cheated", "cheated"])
    assert f"These results as pages: {tmp_path / 'site' / 'index.html'}" in capsys.readouterr().out
    assert (tmp_path / "site" / "records" / f"{make_record('cheated', name).id}.html").is_file()


def test_the_demo_as_json_is_one_array_and_nothing_else(monkeypatch, tmp_path, capsys):
    import json

    _, made = run_demo(monkeypatch, tmp_path, ["correct", "correct", "correct", "cheated", "cheated"], json=True)
    assert [Record.model_validate(line) for line in json.loads(capsys.readouterr().out)] == made


def test_a_fault_of_ours_is_never_as_expected():
    record = make_record("harness_error")
    assert not any(as_expected(sample, record) for sample in SAMPLES)


def test_an_unknown_device_is_told_in_one_sentence(tmp_path):
    done = popcorn("demo", "--device", "cuda:9", cache=tmp_path / "cache")
    assert done.returncode == 62 and done.stderr.startswith("popcorn: device 'cuda:9'") and "Traceback" not in done.stderr
