"""What a sweep's models reached: every planned problem counts, nothing condemned is correct, and each form says the same."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

from popcorn.cli.main import app
from popcorn.cli.result_tables import as_latex
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.sweep.done import Done
from popcorn.sweep.folder import SweepFolder
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.plan import make_plan
from popcorn.sweep.results import by_level, results
from popcorn.sweep.submitting import prepare, run_here
from tests.sweep.pretend import PretendEngine, open_pretend

SMALL = {
    "name": "small", "problems": ["original/L1/36", "original/L1/23"], "models": ["baseline/eager"], "tiers": ["single"], "language": "c", "device": "cpu",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("cache")


def told(*options):
    return CliRunner().invoke(app, ["sweep", "results", "small", *options])


def test_each_form_has_every_planned_problem_and_a_condemned_kernel_is_no_correct_one(cache):
    folder = prepare(make_matrix(SMALL, "small"))
    assert told().exit_code == 1, "nothing has ended"
    assert run_here(folder, open_pretend).counts["done"] == 2
    _, attempts, standings = results(folder)
    (row,) = by_level(standings)
    assert (row["planned"], row["timed"], row["correct_share"], row["no_result"]) == (2, 2, 1.0, 0) and row["speedup_median"] == attempts[
        0
    ].speedup
    (read,) = csv.DictReader(io.StringIO(told("--format", "csv").stdout))
    assert float(read["speedup_mean_all"]) == row["speedup_mean_all"] and read["problems"] == "original L1"
    assert json.loads(told("--json").stdout)["rows"] == [row]
    latex = told("--format", "latex").stdout
    assert r"fast\_1" in latex and r"100 \%" in latex and latex.count(r"\\") == 2 and "%" in latex.splitlines()[-1][:1]
    assert "| original L1 | baseline/eager | single | 2 | 2 | 0 | 100 % |" in told("--format", "markdown").stdout
    assert max(map(len, told().stdout.splitlines())) <= 100
    assert len(told("--by", "problem", "--format", "csv").stdout.splitlines()) == 3
    both = list(csv.DictReader(io.StringIO(told("small", "--format", "csv").stdout)))
    assert [one["sweep"] for one in both] == ["small", "small"] and len(json.loads(told("small", "--json").stdout)) == 2
    store = Store(cache / "records")
    store.ledger.judge(next(iter(store)).id, "condemned", "it kept its answers")
    (row,) = by_level(results(folder)[2])
    assert (row["timed"], row["correct_share"]) == (1, 0.5)


def test_what_is_missing_or_was_broken_off_is_told_apart_from_what_is_wrong(cache):
    matrix = make_matrix({**SMALL, "retries": {"api_error": 0}}, "small")
    folder = prepare(matrix)
    first, second = make_plan(matrix, Done(cache)).jobs
    facts = {"problem": first.problem, "model": first.model, "tier": first.tier}
    Done(cache).add(first.id, "done", "small", outcome="no_kernel", record=None, **facts)
    (row,) = by_level(results(folder)[2])
    assert (row["planned"], row["no_result"], row["correct_share"]) == (2, 1, 0.0) and "1 of 2 jobs are missing" in told().stderr
    Done(cache).add(second.id, "api_error", "small", reason="500")
    plan, attempts, _ = results(folder)
    assert [one.mode for one in attempts] == ["error", "infrastructure"] and not plan.missing
    shown = CliRunner().invoke(app, ["sweep", "status", "small", "--models"]).stdout
    assert re.search(r"baseline/eager +single +2 +1 +1 +0 ", shown) and "1 of 2 jobs have a result" in shown


def test_sweeps_are_listed_and_one_that_cannot_be_read_says_why(cache):
    assert "no sweep was submitted" in CliRunner().invoke(app, ["sweep", "list"]).stderr
    folder = prepare(make_matrix(SMALL, "small"))
    broken = folder.path.with_name("broken")
    broken.mkdir()
    (broken / "spec.json").write_text("{")
    rows = {one["sweep"]: one for one in json.loads(CliRunner().invoke(app, ["sweep", "list", "--json"]).stdout)}
    assert (rows["small"]["state"], rows["small"]["jobs"], rows["broken"]["state"]) == ("stopped", 2, "unreadable")
    shown = "".join(CliRunner().invoke(app, ["sweep", "list"]).stdout.split())
    assert "0of2" in shown and "cannotberead" in shown


def test_a_models_name_is_no_command_of_latex():
    table = as_latex([{"model": r"\input{/etc/passwd}~^_<&", "planned": 1}])
    assert r"\textbackslash{}input\{/etc/passwd\}\textasciitilde{}\textasciicircum{}\_\textless{}\& & 1 \\" in table


def test_what_was_answered_under_another_version_counts_where_that_is_asked_for(cache, monkeypatch):
    folder = prepare(make_matrix(SMALL, "small"))
    run_here(folder, open_pretend)
    monkeypatch.setattr("popcorn.sweep.jobs.__version__", "99.0")
    plan, attempts, _ = results(folder)
    assert (len(attempts), plan.outdated) == (0, 2)
    _, attempts, standings = results(folder, earlier=True)
    assert len(attempts) == 2 and by_level(standings)[0]["correct_share"] == 1.0
    told_now = told()
    assert told_now.exit_code == 1 and "2 of them ended under another version" in told_now.stderr and "--earlier" in told_now.stderr
    counted = told("--earlier", "--json")
    assert counted.exit_code == 0 and json.loads(counted.stdout)["rows"][0]["correct_share"] == 1.0


def test_a_cache_that_was_copied_from_elsewhere_is_read_where_it_lies(cache, tmp_path):
    folder = prepare(make_matrix(SMALL, "small"))
    run_here(folder, open_pretend)
    here = tmp_path / "brought"
    cache.rename(here)
    brought = SweepFolder(here / folder.path.relative_to(cache))
    assert brought.spec().cache == str(here) and len(results(brought)[1]) == 2


def test_a_sweep_that_was_measured_on_two_kinds_of_device_says_so(cache, monkeypatch):
    one = PretendEngine._judge

    def judge(self, request):
        here = self.machine
        if request.problem.id == "original/L1/23":
            self.machine = here.model_copy(update={"device_id": "nvidia-h100-sxm"})
        try:
            return one(self, request)
        finally:
            self.machine = here

    assert run_here(prepare(make_matrix(SMALL | {"problems": ["original/L1/36"]}, "small")), open_pretend).counts["done"] == 1
    assert "kinds of device" not in told().stderr and "device" not in told("--by", "problem").stdout.splitlines()[0]
    monkeypatch.setattr(PretendEngine, "_judge", judge)
    assert run_here(prepare(make_matrix(SMALL, "small")), open_pretend).counts["done"] == 1
    shown = told("--by", "problem")
    assert "measured on 2 kinds of device" in shown.stderr and "1 kernels on nvidia-h100-sxm" in shown.stderr
    assert "nvidia-h100-sxm" in shown.stdout and json.loads(told("--json").stdout)["devices"]["nvidia-h100-sxm"] == 1


def test_imported_suites_have_rows_of_their_own_and_files_by_path_another(cache, monkeypatch):
    def found(identity, level):
        return find_problem("original/L1/36").model_copy(update={"id": identity, "variant": None, "level": level})

    own = [found("kernelbench/L1/1", 1), found("sakana/L1/1", 1), found("/tmp/mine.py", None)]
    monkeypatch.setattr("popcorn.sweep.results.problems_of", lambda _: [*own, find_problem("original/L1/23")])
    monkeypatch.setattr("popcorn.sweep.jobs.problems_of", lambda _: [*own, find_problem("original/L1/23")])
    folder = prepare(make_matrix(SMALL, "small"))
    for job in make_plan(folder.spec().matrix, Done(cache)).jobs:
        Done(cache).add(job.id, "done", "small", problem=job.problem, model=job.model, tier=job.tier, repeat=1, outcome="no_kernel")
    assert {row["problems"] for row in by_level(results(folder)[2])} == {"kernelbench L1", "sakana L1", "other", "original L1"}
