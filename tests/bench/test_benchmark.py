"""Benchmarking through the worker: the example of docs/adding.md as a script of its own, and what a report says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import torch

from popcorn.bench import Result, line, report
from popcorn.bench.asking import Settings, request_for
from popcorn.evaluate import evaluate
from popcorn.ops.registry import find_op
from popcorn.records.store import Store
from popcorn.schema.case import Case
from tests.test_dispatch import row

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "adding.md"


def test_the_example_of_an_op_is_measured_as_it_stands(tmp_path):
    found = re.search(r"<!-- example: an op -->\n```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    script = tmp_path / "mine.py"
    # one implementation of the three, forward alone: the test's own economy
    script.write_text(found[1].replace("torch.randn(300))", 'torch.randn(300), implementations=["in place"], gradient=False)'))
    env = {**os.environ, "POPCORN_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("in place  forward  torch") and done.stdout.count("forward") == 1
    (record,) = Store(tmp_path / "cache" / "records").find(problem="scaled_tanh", kind="op")
    assert record.verdict.correct and record.subject.implementation == "in place"
    assert record.case == Case(dims={"R": 64, "D": 300}) and record.measurement.timing is not None


def test_an_implementation_that_is_wrong_is_told_so_and_gets_no_time(tmp_path, bench):
    op = find_op("softmax")
    op.implementation("doubled")(lambda x: op.reference(x) * 2)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from popcorn.ops import softmax\n\n@softmax.implementation('doubled')\ndef doubled(x):\n    return softmax.reference(x) * 2\n"
    )
    try:
        request = request_for(op, "doubled", Case(dims={"R": 4, "D": 9}), Settings("cpu", timing=False))
        record = evaluate(request.model_copy(update={"op_file": str(wrong)}), bench, Store(tmp_path / "records"))
    finally:
        op._implementations.pop("doubled")
    assert record.verdict.outcome == "wrong_values" and record.measurement.timing is None
    assert record.subject.implementation == "doubled" and record.kind == "op"


def test_a_case_of_an_op_is_judged_with_its_scalars_layout_and_gradients(tmp_path, bench):
    op = find_op("rms_norm")
    case = Case(dims={"R": 5, "D": 33}, scalars={"eps": 0.5}, layout="transposed", gradient="grad", precision="bfloat16")
    record = evaluate(request_for(op, "popcorn", case, Settings("cpu", timing=False)), bench, Store(tmp_path / "records"))
    assert record.verdict.correct, record.verdict.reason
    assert record.case == case and record.subject.language == "cpp" and record.subject.problem_hash == op.hash
    assert {one.output for one in record.verdict.precision} >= {
        "out['out']",
        "out['gradient of']['input[0]']",
        "out['gradient of']['input[1]']",
    }


def test_a_report_has_scaled_units_and_never_a_zero(capsys):
    text = report(Result("swiglu", "popcorn", row("popcorn", 3.1, time_s=9.6e-6), row("popcorn", 2.0, time_s=1.2e-3, gradient="grad")))
    assert "9.60 µs" in text and "1.20 ms" in text and "3.10×" in text and "fwd+bwd" in text
    assert "0.0 ms" not in text and capsys.readouterr().out == text + "\n"


def test_a_benchmark_says_what_it_measures_now_and_how_long_the_rest_may_take(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("popcorn.bench.measure", lambda op, name, case, *_: row(name, gradient=case.gradient))
    op, x = find_op("softmax"), torch.randn(4, 9)
    asked = {"implementations": ["torch", "popcorn"], "store": Store(tmp_path / "records")}
    first, second = op.benchmark(x, **asked)
    said = capsys.readouterr().err.splitlines()
    assert (first.implementation, second.training.case.gradient) == ("popcorn", "grad")
    assert said[0] == "softmax: popcorn, forward (1 of 4)" and len(said) == 4
    assert re.fullmatch(r"softmax: torch, forward and backward \(4 of 4, about .+ to go\)", said[3])
    op.benchmark(x, quiet=True, gradient=False, **asked)
    assert capsys.readouterr().err == ""


def test_a_result_gives_status_gauges_and_measurements_as_plain_data():
    result = Result("swiglu", "popcorn", row("popcorn", outcome="crash")).result
    assert result["forward"]["status"] == "crash" and result["forward"]["measurements"]["timing"] is None
    assert line(row("popcorn", 2.0)).startswith("swiglu popcorn R1024-D1024-fp32: correct, 1.00 ms, 2.00× torch")
