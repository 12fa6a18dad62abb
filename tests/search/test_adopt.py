"""adopt: a found kernel becomes an implementation, judged, measured, dispatched; or is refused with reasons and leaves nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from popcorn.bench.asking import Settings, call_of
from popcorn.dispatch import Measured
from popcorn.errors import BadSearch
from popcorn.ops.implementation import adopted_folder
from popcorn.ops.registry import find_op
from popcorn.records.store import Store
from popcorn.schema.case import Case
from popcorn.schema.measurement import Interval
from popcorn.search.adopt import cases_of
from popcorn.search.assumptions import find_assumptions
from popcorn.search.implementing import implementation_name, text_hash, write_implementation
from popcorn.search.program import Judged
from popcorn.search.winners import Winner
from tests.made_records import keep_ceilings
from tests.ops.test_every_implementation import LAYOUTS

ROOT = Path(__file__).parents[2]
SOFTMAX = (ROOT / "popcorn" / "agents" / "providers" / "kernels" / "original_L1_23" / "3.c").read_text()
WINNER = Winner(SOFTMAX, "c", "original/L1/23", {"kind": "search", "id": "mine", "program": "7-abc", "record": "r" * 16, "model": "mutate"})


def case(precision="float32", gradient="none", **dims) -> Case:
    return Case(dims={"R": 4, "D": 64, **dims}, precision=precision, gradient=gradient)


def judge(rule):
    """An examine that says correct where the rule holds."""
    return lambda one, multiples: Judged(outcome="correct") if rule(one, multiples) else Judged(outcome="wrong_values", reason="differs")


PLAN = [case(p, g, D=d) for p in ("float32", "bfloat16") for g in ("none", "grad") for d in (64, 129, 1024, 8192)]


def test_element_types_and_gradients_that_fail_are_not_taken():
    found = find_assumptions(PLAN, judge(lambda one, _: one.precision == "float32" and one.gradient == "none"), "D")
    assert (found.precisions, found.gradient, found.bounds, found.multiples) == (("float32",), False, {}, {})
    assert any("bfloat16" in line for line in found.left_out) and any("gradients" in line for line in found.left_out)
    both = find_assumptions(PLAN, judge(lambda one, _: True), "D")
    single = find_assumptions(PLAN, judge(lambda one, _: one.precision == "float32" or one.gradient == "none"), "D")
    assert (single.precisions, single.gradients, single.gradient) == (("float32", "bfloat16"), ("float32",), True)
    assert any(line.startswith("bfloat16 with gradients: ") for line in single.left_out)
    assert both.precisions == ("float32", "bfloat16") and both.gradient and both.refusal is None


def test_sizes_that_fail_become_bounds_or_multiples():
    small = find_assumptions(PLAN, judge(lambda one, _: one.dims["D"] <= 1024), "D")
    assert small.bounds == {"D": (64, 1024)} and small.precisions == ("float32", "bfloat16")
    eights = find_assumptions(PLAN, judge(lambda one, multiples: multiples.get("D", 1) % 8 == 0), "D")
    assert eights.multiples == {"D": 8} and eights.precisions == ("float32", "bfloat16")


def test_a_text_that_holds_a_scalars_value_is_called_with_that_value_alone():
    from popcorn.ops.adopted import Takes

    plan = [one.model_copy(update={"scalars": {"eps": 1e-6, "k": 2}}) for one in PLAN]
    held = find_assumptions(plan, judge(lambda one, _: one.scalars["eps"] == 1e-6), "D")
    assert held.fixed == {"eps": 1e-6} and held.precisions == ("float32", "bfloat16")
    assert any(line.startswith("eps other than 1e-06: ") for line in held.left_out)
    assert find_assumptions(plan, judge(lambda one, _: True), "D").fixed == {}
    takes = Takes("cpu", ("float32",), scalars=held.fixed)
    assert takes.answer(call_of(plan[0], "cpu"))
    other = takes.answer(call_of(plan[0].model_copy(update={"scalars": {"eps": 0.5, "k": 2}}), "cpu"))
    assert not other and other.reason == "was judged right for eps = 1e-06 alone; the call has 0.5"


def test_failures_that_nothing_separates_and_cheats_are_refused():
    odd = find_assumptions(PLAN, judge(lambda one, _: one.dims["D"] in (64, 8192)), None)
    assert odd.precisions == () and "wrong_values" in odd.refusal
    cheat = find_assumptions(PLAN, lambda *_: Judged(outcome="cheated", reason="clock: 9 ms"), "D")
    assert "clock" in cheat.refusal and len(cheat.seen) == 1


def test_names_are_checked_and_come_from_the_text():
    assert implementation_name(WINNER, None) == f"evolve_{text_hash(SOFTMAX)[:6]}"
    for bad in ("torch", "Best", "a-b", "x" * 60, "../up"):
        with pytest.raises(BadSearch):
            implementation_name(WINNER, bad)


def test_a_file_of_the_users_that_does_not_load_costs_nothing_but_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    folder = adopted_folder("softmax")
    folder.mkdir(parents=True)
    (folder / "impl_broken.py").write_text("raise RuntimeError('no')\n")
    op = find_op("softmax")
    op.reload()
    try:
        one = op.implementations["broken"]
        assert one.run is None and "RuntimeError: no" in one.accepts(call_of(case(), "cpu")).reason
        assert "popcorn" in op.implementations and "torch" in op.implementations
    finally:
        shutil.rmtree(folder)
        op.reload()
    assert "broken" not in op.implementations


SCRIPT = """
import sys
from pathlib import Path
from popcorn.bench.asking import Settings
from popcorn.records.store import default_store
from popcorn.search.adopt import adopt
from popcorn.search.winners import Winner
from tests.ops.test_every_implementation import LAYOUTS
from popcorn.cases import Plan
from popcorn.ops.registry import find_op

softmax = find_op("softmax")
softmax.plan = Plan({"R": (64,), "D": (96,)}, layouts=("contiguous",))
winner = Winner(Path(sys.argv[1]).read_text(), "c", "original/L1/23", {"kind": "search", "id": "mine", "record": "r1"})
made = adopt(winner, default_store(), settings=Settings(device="cpu", budget_s=0.1, control=False), tell=lambda line: print(line, file=sys.stderr))
print(made.refusal or "adopted", made.name, made.assumptions.precisions, made.assumptions.gradient, [r.verdict.outcome for r in made.records])
import torch
x = torch.randn(2, 32, 96)
if made.refusal is None:
    print(softmax.explain(x))
    y = softmax[made.name](x)
    print("right" if torch.allclose(y, torch.softmax(x, -1), atol=1e-6) else "wrong", tuple(y.shape))
    print("refused:", softmax.implementations[made.name].accepts(softmax.call_of(x.to(torch.bfloat16))).reason)
print(sorted(path.name for path in (Path(sys.argv[2]) / "implementations" / "softmax").glob("*.py")))
"""


@pytest.fixture(scope="module")
def adopted(tmp_path_factory):
    """One adoption end to end: sandbox, file, rows, dispatch. (its output, its cache folder)"""
    import os

    folder = tmp_path_factory.mktemp("adopt")
    (folder / "kernel.c").write_text(SOFTMAX)
    keep_ceilings(folder / "cache")
    environment = {**os.environ, "POPCORN_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(folder / "kernel.c"), str(folder / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, folder / "cache"


def test_a_found_softmax_becomes_an_implementation_that_explain_names(adopted):
    said, cache = adopted
    name = f"evolve_{text_hash(SOFTMAX)[:6]}"
    assert said.startswith(f"adopted {name} ('float32',) False ['correct'"), said
    line = next(one for one in said.splitlines() if one.strip().startswith(name))
    assert "torch expected" in line and "at a measured case" in line, "explain() weighs it by its own record"
    assert "right (2, 32, 96)" in said and "refused: was judged right in float32" in said
    file = next((cache / "implementations" / "softmax").glob("impl_*.py")).read_text()
    assert '"id": "mine"' in file and "precisions=('float32',)" in file


def test_the_call_uses_it_where_its_record_says_that_it_is_fastest(adopted, monkeypatch):
    """Dispatch goes by records alone: the same ones with another speedup change the choice."""
    _, cache = adopted
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(cache))
    op = find_op("softmax")
    op.reload()
    name = f"evolve_{text_hash(SOFTMAX)[:6]}"
    rows = [one for one in Store(cache / "records").find(problem="softmax", kind="op") if one.subject.implementation == name]
    assert rows and all(one.verdict.correct for one in rows)
    try:
        for speedup, wanted in ((3.0, name), (0.5, "torch")):
            store = Store(cache / f"records-{speedup}")
            for one in rows:
                timing = one.measurement.timing.model_copy(update={"speedup": Interval(value=speedup, low=speedup, high=speedup)})
                store.append(one.model_copy(update={"measurement": one.measurement.model_copy(update={"timing": timing})}))
            chooser = Measured(store=store, machine=rows[0].machine)
            call = call_of(rows[0].case, "cpu")
            assert chooser.choose(op, call).name == wanted
            monkeypatch.setattr(op, "chooser", chooser)
            op.forget()
            import torch

            x = torch.randn(rows[0].case.dims["R"], rows[0].case.dims["D"])
            assert torch.allclose(op(x), torch.softmax(x, -1), atol=1e-6) and str(op.explain(x)).startswith(f"softmax: {wanted}")
            assert (next(iter(op._plans.values())) is op.implementations[wanted].run) is True
    finally:
        monkeypatch.setattr(op, "chooser", None)
        monkeypatch.undo()
        op.reload()


def test_an_adopted_file_is_written_once(tmp_path):
    from popcorn.search.assumptions import Assumptions

    found = Assumptions(("float32",), multiples={"D": 8}, bounds={"D": (8, 64)})
    files = write_implementation(tmp_path, "softmax", "evolve_x", WINNER, found, "cpu")
    compile(files[-1].read_text(), "impl", "exec")
    assert files[0].read_text() == SOFTMAX and "MULTIPLES = {'D': 8}" in files[1].read_text()
    with pytest.raises(BadSearch, match="--name"):
        write_implementation(tmp_path, "softmax", "evolve_x", WINNER, found, "cpu")


@pytest.fixture(scope="module")
def softmax_of_c(tmp_path_factory):
    import os

    from popcorn.ops.adopted import Takes
    from popcorn.ops.adopted import adopted as call_file

    place = tmp_path_factory.mktemp("adopted")
    before = os.environ.get("POPCORN_CACHE_DIR")
    os.environ["POPCORN_CACHE_DIR"] = str(place)
    (place / "impl_mine.c").write_text(SOFTMAX)
    run, accepts, _, _ = call_file("softmax", place / "impl_mine.c", "c", Takes("cpu", ("float32",)))
    assert accepts(call_of(case(), "cpu"))
    yield run
    os.environ.pop("POPCORN_CACHE_DIR") if before is None else os.environ.update(POPCORN_CACHE_DIR=before)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_adopted_kernel_takes_every_layout_though_it_was_judged_on_aligned_contiguous_tensors(softmax_of_c, layout):
    import torch

    for shape in ((6, 33), (2, 3, 64), (1, 1), (5, 1)):
        x = LAYOUTS[layout](torch.randn(shape, generator=torch.Generator().manual_seed(3)))
        torch.testing.assert_close(softmax_of_c(x), torch.softmax(x, -1))


def test_an_adopted_kernel_is_handed_tensors_that_begin_where_wide_loads_may():
    import torch

    from popcorn.ops.adopted import ALIGNED_BYTES, _flat

    (spec,) = find_op("softmax").signature.inputs
    room = torch.arange(67.0, requires_grad=True)
    views = [room[start : start + 64].view(8, 8) for start in range(4)]
    for view in views:
        flat = _flat(view, spec)
        assert flat.data_ptr() % ALIGNED_BYTES == 0 and torch.equal(flat, view)
    assert _flat(views[0], spec).data_ptr() == views[0].data_ptr(), "what is aligned is not copied"
    (gradient,) = torch.autograd.grad(_flat(views[3], spec).sum(), room)
    assert gradient.sum() == 64


def test_a_few_cases_of_a_plan_hold_each_element_type_once_and_no_case_twice():
    found = cases_of(find_op("softmax"), Settings(device="cpu"), 3)
    assert {case.precision for case in found if case.gradient == "none"} == {"float32", "bfloat16"}
    assert len({case.id for case in found}) == len(found) <= 5
