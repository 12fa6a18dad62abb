"""Rerun: the same question again, and what can stop it."""

import io

import pytest
from rich.console import Console

from popcorn.cli.rerun import read_raw, request_of
from popcorn.cli.side_by_side import compare, overlap, print_both
from popcorn.errors import BadProblem, BadRecord, MissingFile, UnknownProblem
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Interval
from popcorn.schema.record import Subject
from popcorn.schema.verdict import Verdict
from popcorn.suites.problems import find_problem
from tests.made_records import SOURCE, make_record

PROBLEM = find_problem("original/L1/36")


def recorded(outcome="correct", **changes):
    subject = Subject(
        problem=PROBLEM.id,
        problem_hash=PROBLEM.hash,
        implementation="candidate",
        candidate_hash="c" * 16,
        language="torch",
        name="a.py",
        source=SOURCE,
    )
    return make_record(outcome, **{"subject": subject, **changes})


def test_the_request_is_the_record_s_own_question():
    old = recorded(case=Case(dims={"B": 1}, precision="bfloat16", gradient="grad"))
    request = request_of(old)
    assert (request.source, request.language, request.name, request.problem) == (SOURCE, "torch", "a.py", PROBLEM)
    assert (request.precision, request.gradient, request.seed, request.device) == ("bfloat16", "grad", old.provenance.seed, "cuda:0")
    assert request_of(recorded(machine=Machine(device_id="c", device_name="c", kind="cpu"))).device == "cpu"
    assert request_of(old, device="cuda:1").device == "cuda:1"


def test_a_problem_whose_text_has_changed_is_refused():
    changed = recorded(subject=recorded().subject.model_copy(update={"problem_hash": "f" * 16}))
    with pytest.raises(BadProblem, match=f"is another text now .{PROBLEM.hash}. than when record .* was made .ffffffffffffffff."):
        request_of(changed)


def test_a_problem_that_is_gone_is_named():
    gone = recorded(subject=recorded().subject.model_copy(update={"problem": "popcorn/L4/999"}))
    with pytest.raises(UnknownProblem, match="popcorn/L4/999"):
        request_of(gone)


def test_a_baseline_holds_no_candidate():
    baseline = recorded(kind="baseline", subject=recorded().subject.model_copy(update={"implementation": "compile", "source": None}))
    with pytest.raises(BadRecord, match="holds no candidate; give the id of an evaluation"):
        request_of(baseline)


def test_the_table_sets_both_side_by_side_and_says_what_agrees():
    old, new = recorded(), recorded("timeout", machine=Machine(device_id="cpu-a", device_name="c", kind="cpu"))
    rows = {label: (first, second, remark) for label, first, second, remark in compare(old, new)}
    assert rows["outcome"] == ("correct", "timeout", "DIFFERENT")
    assert rows["case"][2] == "the same" and rows["device"][2] == "DIFFERENT"
    assert rows["time"] == ("9.60 µs [9.50 µs, 9.70 µs]", "—", "")
    again = {label: remark for label, _, _, remark in compare(old, recorded(made="2025-12-01T00:00:00+00:00"))}
    assert again["time"] == again["eager"] == again["speedup"] == again["over compile"] == "intervals overlap"


def test_why_a_record_did_not_pass_is_told_whole_in_lines_without_blanks_at_their_ends():
    reason = "trial 3: out: largest error 0.5 exceeds 0.1 at one of many places; " * 6 + "the last word"
    old, console = recorded(), Console(width=80, force_terminal=False, file=io.StringIO())
    print_both(old, recorded("wrong_values", verdict=Verdict(outcome="wrong_values", reason=reason)), console)
    text = console.file.getvalue()
    assert f"now: {reason}" in " ".join(text.split()) and not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    ("low", "high", "said"), [(3.0, 4.0, "intervals overlap"), (2.0, 3.0, "intervals overlap"), (3.5, 9.0, "intervals DO NOT overlap")]
)
def test_intervals_overlap_when_they_share_a_value(low, high, said):
    assert overlap(Interval(value=3.1, low=3.0, high=3.2), Interval(value=(low + high) / 2, low=low, high=high)) == said


def test_the_raw_json_of_a_page_is_a_record_and_what_is_none_is_named(tmp_path):
    file = tmp_path / "raw.json"
    file.write_text(recorded().model_dump_json(indent=1))
    assert read_raw(file) == recorded()
    for text, said in (
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"id": "a-run"}', "holds no record"),
        ('{"subject": 1}', "schema"),
    ):
        file.write_text(text)
        with pytest.raises(BadRecord, match=said):
            read_raw(file)
    with pytest.raises(MissingFile, match="is no file"):
        read_raw(tmp_path / "gone.json")
