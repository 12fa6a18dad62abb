"""What keeps a store from shipping."""

from typer.testing import CliRunner

from popcorn.bench.checking import check, counted, shippable
from popcorn.cli.bench import app
from popcorn.records.store import Store
from tests.made_records import make_record
from tests.test_dispatch import row


def fit(record):
    timing = record.measurement.timing
    control = timing.control.model_copy(update={"fit": True, "reason": None})
    measurement = record.measurement.model_copy(update={"timing": timing.model_copy(update={"control": control})})
    return record.model_copy(update={"measurement": measurement})


def rules(*records):
    return dict(counted(check(records, release=True)))


def test_a_good_store_has_no_findings():
    assert rules(fit(row("popcorn", 2.0)), fit(row("inductor", 1.5))) == {}


def test_a_row_whose_controls_did_not_pass_may_not_ship():
    good = fit(row("popcorn", 2.0))
    timing = good.measurement.timing
    noisy = timing.model_copy(update={"control": timing.control.model_copy(update={"fit": False, "reason": "noisy"})})
    assert rules(good.model_copy(update={"measurement": good.measurement.model_copy(update={"timing": noisy})})) == {"controls passed": 1}


def test_rows_of_texts_that_are_no_more_may_not_ship():
    good = fit(row("popcorn", 2.0))
    other = good.model_copy(update={"subject": good.subject.model_copy(update={"problem_hash": "0" * 16})})
    gone = good.model_copy(update={"subject": good.subject.model_copy(update={"problem": "no_such_op"})})
    assert rules(fit(row("popcorn", 2.0, hash="0" * 16))) == rules(other) == rules(gone) == {"no stale fingerprints": 1}


def test_incomplete_rows_and_rows_of_candidates_may_not_ship():
    assert rules(row("popcorn", outcome="harness_error")) == rules(row("popcorn", timed=False)) == {"no incomplete rows": 1}
    assert rules(fit(row("popcorn", 2.0)).model_copy(update={"kind": "evaluation"})) == {"rows of the library alone": 1}


def test_what_wins_a_case_and_is_wrong_elsewhere_in_its_class_may_not_ship():
    winner, wrong = fit(row("popcorn", 3.0)), row("popcorn", outcome="wrong_values", dims={"R": 1, "D": 8})
    assert rules(winner, wrong) == {"every choice validated": 1}
    assert rules(winner, row("popcorn", outcome="wrong_values", dims={"R": 1, "D": 8}, gradient="grad")) == {}
    assert rules(winner, wrong, fit(row("inductor", 4.0))) == {}


def test_two_records_under_one_id_are_found_without_a_release():
    one = row("popcorn", 2.0)
    assert counted(check([one, one])) == {}
    assert counted(check([one, row("inductor", 2.0).model_copy(update={"id": one.id})])) == {"one id, one record": 1}


def test_of_a_noisy_store_ships_what_a_check_of_the_release_passes():
    winner, noisy = fit(row("popcorn", 3.0)), row("inductor", 1.5)
    timing = noisy.measurement.timing
    control = timing.control.model_copy(update={"fit": False, "reason": "noisy"})
    noisy = noisy.model_copy(
        update={"measurement": noisy.measurement.model_copy(update={"timing": timing.model_copy(update={"control": control})})}
    )
    stale = fit(row("popcorn", 2.0, hash="0" * 16))
    kept, out = shippable([noisy, winner, stale])
    assert kept == [winner] and dict(out) == {"controls passed": 1, "no stale fingerprints": 1}
    assert check(kept, release=True) == []


def test_what_was_measured_again_ships_as_it_is_now():
    early, late = fit(row("popcorn", 3.0)), fit(row("popcorn", 2.0))
    late = late.model_copy(update={"id": "f" * 16, "provenance": late.provenance.model_copy(update={"made": "2999-01-01T00:00:00+00:00"})})
    assert shippable([late, early])[0] == [late]


def test_rows_that_show_an_implementation_wrong_ship_and_what_it_would_win_does_not():
    winner, wrong, second = (
        fit(row("popcorn", 3.0)),
        row("popcorn", outcome="wrong_values", dims={"R": 1, "D": 8}),
        fit(row("inductor", 1.2)),
    )
    kept, out = shippable([winner, wrong, second])
    assert {one.id for one in kept} == {wrong.id, second.id} and dict(out) == {"every choice validated": 1}


def test_the_command_exports_what_may_ship_and_tells_what_was_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    Store(tmp_path / "records").extend([fit(row("popcorn", 3.0)), row("popcorn", 2.0, hash="0" * 16)])
    made = tmp_path / "ship" / "here.parquet"
    told = CliRunner().invoke(app, ["export", str(made), "--release"])
    assert told.exit_code == 0, told.output
    assert "left out: 1 rows that break “no stale fingerprints”" in told.output and "1 rows written to" in told.output
    assert CliRunner().invoke(app, ["check", str(made), "--release"]).exit_code == 0
    assert CliRunner().invoke(app, ["export", str(tmp_path / "x.csv"), "--release"]).exit_code != 0


def test_a_check_tells_of_lines_that_it_could_not_read_and_of_a_store_without_any(tmp_path):
    store = Store(tmp_path / "records")
    store.append(row("popcorn", 2.0))
    (file,) = store.folder.glob("*/*.jsonl")
    file.write_bytes(file.read_bytes() + b"{not a record}\n{torn")
    told = CliRunner().invoke(app, ["check", str(store.folder)])
    assert told.exit_code == 1 and "2 findings against “every line can be read”" in told.output and file.name in told.output
    (tmp_path / "other").mkdir()
    nothing = CliRunner().invoke(app, ["check", str(tmp_path / "other")])
    assert nothing.exit_code == 1 and "holds none" in nothing.output


def test_evaluations_are_exported_too(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    Store(tmp_path / "records").extend([make_record("correct", kind="evaluation")])
    told = CliRunner().invoke(app, ["export", str(tmp_path / "all.csv"), "--evaluations"])
    assert told.exit_code == 0 and "1 evaluations written" in told.output and len((tmp_path / "all.csv").read_text().splitlines()) == 2
    assert "0 rows of ops written" in CliRunner().invoke(app, ["export", str(tmp_path / "ops.csv")]).output
