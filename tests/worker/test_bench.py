"""What a bench leaves behind, and what it takes away of others."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench, BenchClosed, sweep
from popcorn.worker.request import Request


def test_folders_of_processes_that_are_gone_are_removed_and_nothing_else(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    names = {f"popcorn-{ended.pid}-abc": False, f"popcorn-{os.getpid()}-abc": True, "popcorn-notes-abc": True, "other-1-abc": True}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "in-1").write_bytes(b"x")
    (tmp_path / f"popcorn-{ended.pid}-file").write_text("not a folder")
    sweep(tmp_path)
    assert {name: (tmp_path / name).exists() for name in names} == names
    assert (tmp_path / f"popcorn-{ended.pid}-file").exists()


def test_who_empties_caches_is_one_process_and_another_one_after_its_end_or_the_zygotes(bench):
    first = bench.evictor()
    assert bench.evictor() is first and first.pid in bench.waiting()
    assert first.ask({"do": "evict", "look": True}, 60.0)["ok"] == {}
    os.kill(first.pid, signal.SIGKILL)
    assert bench.nursery.wait(first.pid, 30.0) == -signal.SIGKILL  # the zygote tells of its end, a moment after it
    second = bench.evictor()
    bench.nursery._process.kill()
    bench.nursery._process.wait()
    end = time.monotonic() + 30
    while not bench._nursery.gone and time.monotonic() < end:
        time.sleep(0.01)
    third = bench.evictor()
    assert len({first.pid, second.pid, third.pid}) == 3 and third.ask({"do": "evict", "look": False}, 60.0)["ok"] == {}


def test_a_killed_zygote_costs_no_evaluation_its_answer(bench, tmp_path):
    text = (Path(__file__).parents[1] / "problems" / "row_softmax.py").read_text()
    (tmp_path / "row_softmax.py").write_text(text)
    request = Request(
        problem=find_problem(str(tmp_path / "row_softmax.py")), source=f"{text}\n\nModelNew = Model\n", language="torch", name="candidate.py", device="cpu",
        timing=False, trials=5,
    )  # fmt: skip
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


def test_a_bench_that_is_closed_ends_what_is_under_way_without_an_answer(tmp_path):
    text = (Path(__file__).parents[1] / "problems" / "row_softmax.py").read_text()
    (tmp_path / "row_softmax.py").write_text(text)
    endless = f"import time\n{text}\n\nclass ModelNew(Model):\n    def forward(self, x):\n        time.sleep(1000)\n"
    request = Request(
        problem=find_problem(str(tmp_path / "row_softmax.py")), source=endless, language="torch", name="candidate.py", device="cpu"
    )
    store, began = Store(tmp_path / "records"), time.monotonic()
    with Bench("cpu") as bench, ThreadPoolExecutor(1) as pool:
        asked = threading.Event()
        under_way = pool.submit(evaluate, request, bench, store, lambda words: asked.set() if "trial" in words else None)
        assert asked.wait(60)
        time.sleep(0.5)
        bench.close()
        with pytest.raises(BenchClosed):
            under_way.result(60)
    assert store.ids() == [] and time.monotonic() - began < 60
