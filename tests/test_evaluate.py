"""The main path with real processes: whatever a candidate does has its own outcome, nobody is left, and the next one is judged as ever."""

import itertools
import os
import re
import time
from pathlib import Path

import psutil
import pytest

from popcorn.errors import HarnessFailure
from popcorn.evaluate import RETRIES, evaluate
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.suites.problems import Problem, find_problem
from popcorn.worker import nursery
from popcorn.worker.bench import Bench
from popcorn.worker.request import Request
from popcorn.worker.seeds import commit
from tests.candidates import (
    BURDENS,
    BY_CONTENT,
    BY_POINTER,
    CHEATS_WHILE_TIMED,
    FAILING,
    FORGED,
    HONEST,
    IN_C,
    LAZY,
    PATCH_TIMER,
    WRONG,
    Case,
    text,
)
from tests.processes import family, runs

PROBLEMS = Path(__file__).parent / "problems"
CHEAP = {
    "trials": 5, "compile_baseline": False, "control": False, "energy": False, "timeout_s": 2.0, "build_timeout_s": 30.0,
    "static_gate": False,  # what these texts do must be survived, not read
}  # fmt: skip


def problem(name: str) -> Problem:
    return find_problem(str(PROBLEMS / f"{name}.py"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="session")
def slower(tmp_path_factory) -> Problem:
    """The softmax at sizes whose call takes the better part of a millisecond, as timing needs it."""
    source = problem("row_softmax").source
    source = re.sub(r"^B = .*$", "B = Dim(192)", source, flags=re.MULTILINE)
    source = re.sub(r"^D = .*$", "D = Dim(1024)", source, flags=re.MULTILINE)
    path = tmp_path_factory.mktemp("problem") / "slower_softmax.py"
    path.write_text(source)
    return find_problem(str(path))


@pytest.fixture
def judge(bench: Bench, folder: Path):
    """Evaluates and checks what holds for every record: it is in the store, it loads again, no speed without a pass, nobody is left."""

    if not STANDING:
        STANDING.update(p.pid for p in psutil.Process().children() if p.pid != bench.nursery._process.pid)

    def run(source: str, name: str | Problem = "row_softmax", language: str = "torch", file: str = "candidate.py", **settings) -> Record:
        chosen = problem(name) if isinstance(name, str) else name
        request = Request(
            problem=chosen, source=source, language=language, name=file, device="cpu", **{"timing": False, **CHEAP, **settings}
        )
        record = evaluate(request, bench, Store(folder))
        assert Store(folder).get(record.id) == record
        assert (record.measurement.timing is not None) == (record.verdict.correct and request.timing)
        assert record.subject.source == source and record.provenance.seed_commitment == commit(record.provenance.seed)
        assert left_over(bench) == []
        return record

    return run


STANDING: set[int] = set()
"""Children of this process before the first evaluation here."""


def left_over(bench: Bench, within_s: float = 30.0) -> list[str]:
    """Processes of this test run beside the zygote and the one that empties caches, after a moment to go. Not those of a browser that other tests left open."""
    zygote = bench.nursery._process.pid
    end = time.monotonic() + within_s
    while True:
        others = [p for p in psutil.Process().children() if p.pid in STANDING]
        known = {zygote, bench.evictor().pid, *family(others)}
        processes = [p for p in psutil.Process().children(recursive=True) if p.pid not in known and runs(p)]
        if not processes or time.monotonic() > end:
            return [str(p) for p in processes]
        time.sleep(0.01)


def check(record: Record, case: Case) -> None:
    verdict = record.verdict
    assert verdict.outcome == case.outcome, verdict.reason
    assert case.says in (verdict.reason or ""), verdict.reason
    assert case.stage in (None, verdict.stage)
    assert verdict.correct or (verdict.reason and len(verdict.reason) < 4000)


def named(cases: list[Case]):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@named(WRONG)
def test_a_wrong_answer_is_called_what_it_is(judge, case):
    record = judge(case.source, case.problem, case.language, case.file)
    check(record, case)
    assert record.verdict.stage == "correctness" and record.verdict.trials_passed < record.verdict.trials


@named(FAILING)
def test_a_failing_candidate_has_its_outcome_and_harms_nobody_else(judge, case):
    start = time.monotonic()
    record = judge(case.source, case.problem, case.language, case.file, **({"build_timeout_s": 2.0} if "import" in case.name else {}))
    check(record, case)
    assert time.monotonic() - start < 60
    assert judge(HONEST).verdict.outcome == "correct"


@named(BURDENS)
def test_a_candidate_that_is_a_burden_is_still_judged_by_its_answer(judge, case):
    check(judge(case.source, timeout_s=30.0), case)
    assert judge(HONEST).verdict.outcome == "correct"


def test_a_lazy_tensor_is_a_cheat_with_the_evidence(judge):
    record = judge(text("return Later(x)", top=LAZY))
    assert record.verdict.outcome == "cheated" and "Later" in record.verdict.reason
    assert [violation.defence for violation in record.verdict.violations] == ["exact_type"]


@pytest.mark.parametrize("source", FORGED.values(), ids=FORGED.keys())
def test_a_forged_answer_is_the_candidates_fault_and_never_ours(judge, source):
    verdict = judge(source).verdict
    assert verdict.outcome not in ("correct", "harness_error"), verdict.reason
    assert len(verdict.reason) < 4000
    assert judge(HONEST).verdict.outcome == "correct"


# -- with the clock


@pytest.fixture(scope="session")
def timed() -> dict:
    return {"timing": True, "budget_s": 0.3, "timeout_s": 5.0}


@pytest.fixture
def commands(monkeypatch) -> list[str]:
    """What children are asked, in order."""
    found, ask = [], nursery.Child.ask

    def noted(self, message, *rest, **named):
        found.append(message.get("do"))
        return ask(self, message, *rest, **named)

    monkeypatch.setattr(nursery.Child, "ask", noted)
    return found


def test_an_honest_python_candidate_is_correct_timed_and_counted(judge, slower, timed, commands):
    record = judge(HONEST, slower, **timed)
    verdict, timing = record.verdict, record.measurement.timing
    assert verdict.outcome == "correct" and verdict.reason is None and verdict.trials == verdict.trials_passed >= 5
    assert verdict.timed_outputs_judged >= 0.1 * verdict.timed_calls > 0
    assert verdict.truth_dtype == "float64" and [row.output for row in verdict.precision] == ["out"]
    assert 0 < verdict.precision[0].worst <= verdict.precision[0].bound
    assert timing.speedup.low <= timing.speedup.value <= timing.speedup.high
    assert timing.speedup.value == pytest.approx(timing.baseline.time_s / timing.candidate.time_s, rel=0.5)
    assert timing.candidate.low_s <= timing.candidate.time_s <= timing.candidate.high_s
    assert len(timing.candidate.blocks_s) >= 3 and len(timing.candidate.blocks_s) == len(timing.baseline.blocks_s)
    assert timing.parent_time_s > 0
    blocks = [before for before, one in itertools.pairwise(name for name in commands if name in ("evict", "block")) if one == "block"]
    counted = sum(len(launch) for side in (timing.candidate, timing.baseline) for launch in side.blocks_s)
    assert counted < blocks.count("evict") < len(blocks), "cold for what counts, and not for what does not"
    assert record.measurement.memory.peak_bytes == record.measurement.memory.output_bytes == 192 * 1024 * 4
    assert record.measurement.memory.ratio == 1 and record.measurement.launches.fusion_ratio == 1
    assert record.measurement.energy.energy_j is None and record.measurement.energy.reason
    roofline = record.measurement.roofline
    # beside other work the ceiling that was measured can lie below what the kernel then reaches: no figure, and it is said
    assert (roofline.min_bytes == 2 * 192 * 1024 * 4 and (roofline.sol or 0) > 0) or "faster than the floor" in (roofline.reason or "")
    assert record.provenance.device_lane.run_s > 0 and record.provenance.wall_s > record.provenance.device_lane.run_s


def test_a_c_candidate_is_built_once_and_the_controls_are_taken(judge, slower, timed, bench):
    first = judge(IN_C, slower, "c", "softmax.c", **{**timed, "control": True})
    assert first.verdict.outcome == "correct", first.verdict.reason
    control = first.measurement.timing.control
    assert control.aa.low <= control.aa.value <= control.aa.high and control.planted.value > 0
    assert first.measurement.launches.kernels is None and "outside torch" in first.measurement.launches.reason
    again = judge(IN_C, "row_softmax", "c", "softmax.c")
    renamed = judge(IN_C, "row_softmax", "c", "other.c")
    assert not first.build.cached and again.build.cached and renamed.build.cached
    assert first.build.build_s > 0 and first.build.key == again.build.key == renamed.build.key
    assert [row["key"] for row in bench.builds.log()].count(first.build.key) == 1


@named(CHEATS_WHILE_TIMED)
def test_a_cheat_that_shows_only_under_the_clock_gets_no_speed(judge, slower, timed, case):
    record = judge(case.source, slower, **timed)
    check(record, case)
    assert record.measurement.timing is None and record.measurement.memory.peak_bytes is None


def test_a_patched_timer_shows_on_a_call_of_microseconds_too(judge, timed):
    """Handing over inputs and results takes longer than such a call: only calls in a row tell."""
    record = judge(text(top=PATCH_TIMER), **timed)
    assert record.verdict.outcome == "cheated" and record.verdict.violations[0].defence == "clock", record.verdict.reason
    assert record.measurement.timing is None


def test_results_kept_by_address_are_wrong_or_gain_nothing(judge, slower, timed):
    """Where an address comes again its contents are others. Where the allocator never gives one twice, every call works."""
    record = judge(text(BY_POINTER, init="self.seen = {}"), slower, **timed)
    assert record.verdict.outcome == "wrong_values" or record.measurement.timing.comparison != "faster", record.verdict.reason


def test_results_kept_by_content_gain_nothing(judge, slower, timed):
    """Every timed call sees contents never seen before: the look-up costs, and memory is counted for a call that works. What it keeps grows
    into fresh pages, batch after batch; that is nobody's false clock."""
    record = judge(text(BY_CONTENT, init="self.seen = {}"), slower, **timed)
    assert record.verdict.outcome == "correct", record.verdict.reason
    assert record.measurement.timing.comparison != "faster"
    assert record.measurement.memory.ratio >= 1


# -- gradients

LINEAR = """
    self.linear = torch.nn.Linear(inputs, outputs)
    self.scale = scale
"""
LINEAR_ARGUMENTS = "inputs, outputs, scale"
WRONG_BACKWARD = """
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y): return y.clone()
    @staticmethod
    def backward(ctx, grad): return grad * FACTOR
"""


def linear(body: str, top: str = "") -> str:
    return text(body, top=top, init=LINEAR, init_arguments=LINEAR_ARGUMENTS)


def test_right_gradients_of_inputs_and_weights_are_correct(judge):
    record = judge(linear("y = torch.tanh(self.linear(x)) * self.scale\nreturn y, y.argmax(-1)"), "scaled_linear", gradient="grad")
    assert record.verdict.outcome == "correct", record.verdict.reason
    outputs = {row.output for row in record.verdict.precision}
    assert {"out['gradient of']['input[0]']", "out['gradient of']['linear.weight']", "out['gradient of']['linear.bias']"} < outputs
    assert record.case.id.endswith("-grad")


@pytest.mark.parametrize("factor", ["2", "1.001", "0"])
def test_a_wrong_gradient_is_found_though_the_result_is_right(judge, factor):
    source = linear(
        "y = Doubled.apply(torch.tanh(self.linear(x)) * self.scale)\nreturn y, y.argmax(-1)", WRONG_BACKWARD.replace("FACTOR", factor)
    )
    assert judge(source, "scaled_linear").verdict.outcome == "correct", "without gradients it is right"
    record = judge(source, "scaled_linear", gradient="grad")
    assert record.verdict.outcome == "wrong_values" and "grad" in record.verdict.reason
    assert record.verdict.miss is not None and record.verdict.rule is None


def test_a_result_cut_off_from_its_inputs_has_no_gradient(judge):
    record = judge(linear("y = torch.tanh(self.linear(x)) * self.scale\nreturn y.detach(), y.argmax(-1)"), "scaled_linear", gradient="grad")
    assert record.verdict.outcome == "wrong_shape" and "carry a gradient" in record.verdict.reason


def test_a_wrong_index_is_wrong_though_its_value_is_near(judge):
    record = judge(linear("y = torch.tanh(self.linear(x)) * self.scale\nreturn y, (y.argmax(-1) + 1) % 12"), "scaled_linear")
    assert record.verdict.outcome == "wrong_values" and "out[1]" in record.verdict.reason


def test_weights_under_other_names_get_the_references_values(judge):
    """The contract of such files: same seed, same order of construction."""
    body = "y = torch.tanh(torch.nn.functional.linear(x, self.w.weight, self.w.bias)) * 0.5\nreturn y, y.argmax(-1)"
    source = text(body, init="self.w = torch.nn.Linear(inputs, outputs)", init_arguments=LINEAR_ARGUMENTS)
    assert judge(source, "scaled_linear").verdict.outcome == "correct"
    assert judge(source, "scaled_linear", gradient="grad").verdict.outcome == "correct"


# -- repeating, references, faults of ours

ROUNDED = "e = torch.exp(x - x.amax(-1, keepdim=True))\nreturn e * (1 / e.sum(-1, keepdim=True))"


def test_the_seed_of_a_record_repeats_its_inputs_and_another_seed_does_not(judge):
    first = judge(text(ROUNDED))
    again = judge(text(ROUNDED), seed=first.provenance.seed)
    other = judge(text(ROUNDED))
    assert first.verdict.correct and first.verdict.precision == again.verdict.precision != other.verdict.precision
    assert first.provenance.seed_commitment == again.provenance.seed_commitment != other.provenance.seed_commitment
    assert len({first.id, again.id, other.id}) == 3


def broken(tmp_path: Path, body: str) -> Problem:
    path = tmp_path / "broken.py"
    path.write_text(problem("row_softmax").source.replace("return torch.softmax(x, dim=-1)", body))
    return find_problem(str(path))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return x / 0", "NaN or inf"),
        ("raise ValueError('broken reference')", "broken reference"),
        ("return torch.rand(1, 2) @ x", "fails"),
    ],
)
def test_a_broken_reference_is_no_candidates_fault(judge, tmp_path, body, says):
    record = judge(HONEST, broken(tmp_path, body))
    assert record.verdict.outcome == "invalid_reference" and says in record.verdict.reason


def test_a_fault_of_ours_is_tried_again_and_then_said(judge, bench, monkeypatch):
    tried = []

    def fail(self, role, *args, **more):
        tried.append(role)
        raise HarnessFailure("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Bench, "start", fail)
        record = judge(HONEST)
    assert record.verdict.outcome == "harness_error" and "the disk is full" in record.verdict.reason
    assert len(tried) == RETRIES + 1
    assert judge(HONEST).verdict.outcome == "correct"


def test_a_fault_of_ours_that_passes_leaves_no_trace(judge, bench, monkeypatch):
    honest_start, tried = Bench.start, []

    def fail_once(self, role, *args, **more):
        tried.append(role)
        if len(tried) == 1:
            raise HarnessFailure("a hiccup")
        return honest_start(self, role, *args, **more)

    monkeypatch.setattr(Bench, "start", fail_once)
    assert judge(HONEST).verdict.outcome == "correct"


def test_an_oracle_that_is_killed_is_replaced(judge, bench, monkeypatch):
    honest_start, oracles = Bench.start, []

    def start(self, role, *args, **more):
        child = honest_start(self, role, *args, **more)
        if role == "oracle":
            oracles.append(child.pid)
            if len(oracles) == 1:
                os.kill(child.pid, 9)
        return child

    monkeypatch.setattr(Bench, "start", start)
    assert judge(HONEST).verdict.outcome == "correct" and len(oracles) == 2


def test_temporary_files_do_not_pile_up(judge, bench):
    judge(HONEST)
    before = sum(1 for _ in bench.folder.rglob("*"))
    judge(HONEST)
    assert sum(1 for _ in bench.folder.rglob("*")) <= before


def test_a_problem_that_zeros_would_pass_says_nothing_about_a_kernel(judge, tmp_path):
    path = tmp_path / "constant.py"
    path.write_text(problem("row_softmax").source.replace("return torch.softmax(x, dim=-1)", "return torch.softmax(x, 1).sum(1, True) * 0"))
    assert "* 0" in path.read_text()
    right = "import torch\nfrom torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.zeros(x.shape[0], 1)\n"
    record = judge(right, find_problem(str(path)))
    assert record.verdict.outcome == "invalid_reference" and "zeros" in record.verdict.reason and "says nothing" in record.verdict.reason
