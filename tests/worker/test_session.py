"""A session's trusted processes: on a GPU the next evaluation of the problem has them again. Here a CPU's do what a GPU's would."""

from popcorn.bench.asking import Settings, case_of, request_for
from popcorn.evaluate import evaluate
from popcorn.ops.registry import find_op
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.kept import Kept
from popcorn.worker.request import Request
from popcorn.worker.session import Session

SOFTMAX = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, dim=1)\n"


def test_references_serve_the_next_evaluation_of_their_problem_and_each_comparison_meets_many(tmp_path, monkeypatch):
    started: list[tuple[str, int, bool]] = []
    real = Session.start_trusted

    def noted(self, role, may_be_kept=True, fresh=False):
        child, fresh = real(self, role, may_be_kept, fresh)
        started.append((role, child.pid, fresh))
        return child, fresh

    monkeypatch.setattr(Session, "start_trusted", noted)
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    store = Store(tmp_path / "records")
    problem = find_problem("original/L1/23")
    request = Request(
        problem=problem,
        source=SOFTMAX,
        language="torch",
        name="softmax.py",
        device="cpu",
        budget_s=0.1,
        control=False,
        compile_baseline=False,
    )
    with Bench("cpu") as bench:
        bench.keeps = True
        bench.kept["reference"] = Kept(20, bench._lives)
        assert evaluate(request, bench, store).verdict.outcome == "correct"
        first = [pid for role, pid, _ in started if role == "reference"]
        assert len(first) == len(set(first)) > 5 and all(fresh for _, _, fresh in started)
        waiting = {*bench.waiting()} - {bench.evictor().pid}
        assert waiting == set(first), "all of them rest, and the oracle, whose files are gone, does not"
        started.clear()
        assert evaluate(request, bench, store).verdict.outcome == "correct"
        second = [(pid, fresh) for role, pid, fresh in started if role == "reference"]
        assert len({pid for pid, _ in second}) == len(second) and {pid for pid, fresh in second if not fresh} <= set(first)
        assert sum(not fresh for _, fresh in second) > 5


def test_two_cases_of_an_op_share_no_process(bench):
    """An op has one hash in all its cases, and what a process has loaded is one case."""
    op = find_op("rms_norm")
    asked = [
        request_for(op, "torch", case_of(op, sizes, "float32", "contiguous"), Settings(device="cpu"))
        for sizes in (["R=8", "D=64"], ["R=8", "D=128"])
    ]
    keys = []
    for request in (*asked, asked[0]):
        with Session(bench, request, request.problem.hash, "", lambda _: None) as session:
            keys.append(session.same)
    assert asked[0].problem.hash == asked[1].problem.hash and keys[0] != keys[1] and keys[0] == keys[2]


def test_what_another_evaluation_asks_meanwhile_stands_beside_this_one(bench):
    request = request_for(
        find_op("rms_norm"), "torch", case_of(find_op("rms_norm"), ["R=8", "D=64"], "float32", "contiguous"), Settings(device="cpu")
    )
    sessions = [Session(bench, request, request.problem.hash, "", lambda _: None) for _ in range(2)]
    with sessions[0] as mine, sessions[1] as other:
        own, importing = mine.start_reference(), other.start_reference()
        assert set(mine.processes()[0]) >= {own.pid, importing.pid} and mine.processes()[1] == ()
        importing.busy = True
        assert importing.pid not in mine.processes()[0] and set(mine.processes()[1]) == {importing.pid}
        importing.busy = False
