"""The static check as a gate: what no kernel needs is refused before the build, by the syntax tree alone."""

from pathlib import Path

import pytest

from popcorn.audit.samples import FOLDER, read_samples
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.gate import refused, refused_build
from popcorn.worker.request import Request

KILL = "void f() { kill(1, 9); }"
HONEST = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, -1)\n"


@pytest.mark.parametrize(
    ("source", "is_python", "found"),
    [
        ("from popcorn.worker import side\n", True, True),
        ("import os as system\nsystem.kill(1, 9)\n", True, True),
        (KILL, False, True),
        ('const char* a = "/*"; ' + KILL + ' const char* b = "*/";', False, True),
        (f"# from popcorn import x\nTEXT = '''{KILL}'''\nimport os\nos.waitpid(1, 0)\n", True, False),
        (f'/* {KILL} */\nconst char* s = "kill(1, 9);";', False, False),
    ],
)
def test_strings_and_comments_neither_hide_nor_trigger_a_refusal(source: str, is_python: bool, found: bool) -> None:
    assert (refused(source, is_python) is not None) == found


def test_texts_that_a_module_has_compiled_are_read_as_what_they_are() -> None:
    assert "line 1" in str(refused_build({"name": "x", "cpp_sources": [KILL]}))
    assert refused_build({"name": "x", "files": {"a.cpp": KILL}}) is not None
    assert refused_build({"name": "x", "cpp_sources": 3, "cuda_sources": None, "docs": KILL}) is None


def test_no_honest_sample_is_refused_and_few_cheats_are_caught_only_so() -> None:
    assert {one.name for one in read_samples("honest") if refused(one.source, one.path.suffix == ".py")} == set()
    assert len([one for one in read_samples("evil") if not refused(one.source, one.path.suffix == ".py")]) > 60


def test_a_refused_text_is_rejected_before_anything_is_built(bench: Bench, tmp_path: Path) -> None:
    problem = find_problem(str(FOLDER / "problems" / "softmax.py"))
    bad = "import popcorn.errors\n" + HONEST
    request = Request(problem=problem, source=bad, language="torch", name="x.py", device="cpu", timing=False)
    verdict = evaluate(request, bench, Store(tmp_path)).verdict
    assert (verdict.outcome, verdict.stage, verdict.rule) == ("rejected", "build", "static")
    assert (verdict.reason or "").startswith("the static check refuses line 1 (popcorn.errors): it imports Popcorn's own modules")
    assert evaluate(request.model_copy(update={"source": HONEST}), bench, Store(tmp_path)).verdict.correct
