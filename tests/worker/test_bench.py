"""What a bench leaves behind, and what it takes away of others."""

import os
import subprocess
import sys
from pathlib import Path

from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench, sweep
from popcorn.worker.request import Request


def test_folders_of_processes_that_are_gone_are_removed_and_nothing_else(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    names = {f"popcorn-{gone.pid}-abc": False, f"popcorn-{os.getpid()}-abc": True, "popcorn-notes-abc": True, "other-1-abc": True}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "in-1").write_bytes(b"x")
    (tmp_path / f"popcorn-{gone.pid}-file").write_text("not a folder")
    sweep(tmp_path)
    assert {name: (tmp_path / name).exists() for name in names} == names
    assert (tmp_path / f"popcorn-{gone.pid}-file").exists()


def test_a_killed_zygote_costs_no_evaluation_its_answer(tmp_path):
    text = (Path(__file__).parents[1] / "problems" / "row_softmax.py").read_text()
    (tmp_path / "row_softmax.py").write_text(text)
    request = Request(
        problem=find_problem(str(tmp_path / "row_softmax.py")), source=f"{text}\n\nModelNew = Model\n", language="torch", name="candidate.py", device="cpu",
        timing=False, trials=5,
    )  # fmt: skip
    with Bench("cpu") as bench:
        bench.nursery.wait_ready()
        told: list[str] = []

        def tell(words: str) -> None:
            if not told:
                bench.nursery._process.kill()  # in the midst of the first attempt
            told.append(words)

        first = evaluate(request, bench, Store(tmp_path / "records"), tell)
        second = evaluate(request, bench, Store(tmp_path / "records"))
    assert (first.verdict.outcome, second.verdict.outcome) == ("correct", "correct"), (first.verdict.reason, second.verdict.reason)
    assert any("the zygote is gone (signal 9)" in words for words in told), told
