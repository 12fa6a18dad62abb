"""Records as solutions and traces: their words for our outcomes, and no speed without a pass."""

import json
from pathlib import Path

import pytest

from popcorn.errors import BadProblem
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from popcorn.schema.record import Provenance, Record, Subject
from popcorn.schema.verdict import Verdict
from popcorn.suites.exporting import export_problem, solution_of, trace_of
from popcorn.suites.problems import find_problem


def record(outcome: str) -> Record:
    subject = Subject(
        problem="popcorn/L1/29", problem_hash="0" * 16, implementation="candidate", candidate_hash="ab12", language="c", source="int x;"
    )
    verdict = Verdict(outcome=outcome, reason="why", stage="correctness")  # type: ignore[arg-type]
    machine = Machine(device_id="cpu-x", device_name="X", kind="cpu")
    return Record(
        id="r1",
        subject=subject,
        case=Case(dims={"R": 3}),
        machine=machine,
        verdict=verdict,
        provenance=Provenance(made="2026-01-01T00:00:00+00:00", harness="1"),
    )


def test_outcomes_become_statuses_without_a_speed() -> None:
    for outcome, status in (
        ("wrong_values", "INCORRECT_NUMERICAL"),
        ("compile_error", "COMPILE_ERROR"),
        ("cheated", "REWARD_HACK"),
        ("crash", "RUNTIME_ERROR"),
    ):
        trace = trace_of(record(outcome), "d", {"uuid": "u", "axes": {"R": 4}, "inputs": {}})
        assert trace["evaluation"]["status"] == status and trace["evaluation"]["performance"] is None
        assert trace["workload"]["axes"] == {"R": 3} and trace["solution"] == "ab12"
    told = solution_of(record("correct"), "d")
    assert told["sources"] == [{"path": "main.c", "content": "int x;"}] and told["spec"]["entry_point"] == "main.c::popcorn_forward"


def test_an_export_holds_records_beside_the_definition(tmp_path: Path) -> None:
    written = export_problem(find_problem("popcorn/L1/29"), tmp_path, [record("crash")])
    assert written == {"workloads": 3, "solutions": 1, "traces": 1}
    lines = [json.loads(line) for line in (tmp_path / "workload.jsonl").read_text().splitlines()]
    assert len({line["uuid"] for line in lines}) == 3 and set(lines[0]["axes"]) == {"R", "B", "D"}
    assert (tmp_path / "solutions" / "ab12.json").is_file() and (tmp_path / "traces.jsonl").is_file()


def test_communication_is_no_definition(tmp_path: Path) -> None:
    with pytest.raises(BadProblem, match="one process"):
        export_problem(find_problem("popcorn/L2/2"), tmp_path)
