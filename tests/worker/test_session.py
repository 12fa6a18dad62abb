"""A session's trusted processes: on a GPU the next evaluation of the problem has them again. Here a CPU's do what a GPU's would."""

from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.kept import Kept
from popcorn.worker.request import Request
from popcorn.worker.session import Session

SOFTMAX = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, dim=1)\n"


def test_references_serve_the_next_evaluation_of_their_problem_and_each_comparison_meets_many(tmp_path, monkeypatch):
    started: list[tuple[str, int, bool]] = []
    real = Session._start_trusted

    def noted(self, role, may_be_kept=True):
        child, fresh = real(self, role, may_be_kept)
        started.append((role, child.pid, fresh))
        return child, fresh

    monkeypatch.setattr(Session, "_start_trusted", noted)
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
        assert set(bench.waiting()) == set(first), "all of them rest, and the oracle, whose files are gone, does not"
        started.clear()
        assert evaluate(request, bench, store).verdict.outcome == "correct"
        second = [(pid, fresh) for role, pid, fresh in started if role == "reference"]
        assert len({pid for pid, _ in second}) == len(second) and {pid for pid, fresh in second if not fresh} <= set(first)
        assert sum(not fresh for _, fresh in second) > 5
