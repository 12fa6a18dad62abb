"""What a side of a comparison is made of."""

from types import SimpleNamespace

import pytest
import torch

from popcorn.records.store import Store
from popcorn.schema.verdict import Verdict
from popcorn.worker import compiled
from popcorn.worker.failure import Failed
from popcorn.worker.side import _compiled
from popcorn.worker.subject import CandidateFile, import_candidate, load_reference
from tests.made_records import make_record


class Scaled(torch.nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_under_torch_compile_the_references_weights_keep_their_names() -> None:
    sides = [load_reference(one, [4], 1, "float32", torch.device("cpu"), True) for one in (Scaled, _compiled(Scaled))]

    assert list(sides[0].parameters) == list(sides[1].parameters) == ["weight"]
    assert sides[1].forward._compiled_call_impl is not None


def test_a_reference_whose_weights_have_no_size_yet_says_what_to_do() -> None:
    with pytest.raises(Failed, match=r"`weight` has no size.*Model.__init__"):
        load_reference(torch.nn.LazyLinear, [4], 1, "float32", torch.device("cpu"), False)


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("functools.partial(Scaled, factor=2)", True),
        ("lambda: Scaled(2)", True),
        ("type('ModelNew', (Scaled,), {})", True),
        ("Scaled(2)", False),
        ("2", False),
    ],
)
def test_whatever_makes_a_model_when_it_is_called_is_a_candidate_and_a_model_that_is_made_is_none(made, taken, tmp_path) -> None:
    head = "import functools, torch\nclass Scaled(torch.nn.Module):\n    def __init__(self, factor=1):\n        super().__init__()\n"
    path = tmp_path / "candidate.py"
    path.write_text(f"{head}    def forward(self, x): return x\n\nModelNew = {made}\n")
    if taken:
        assert import_candidate(CandidateFile(path, "torch", None)).ModelNew()(3) == 3
        return
    with pytest.raises(Failed, match="no class ModelNew"):
        import_candidate(CandidateFile(path, "torch", None))


def test_a_refusal_of_torch_compile_for_such_names_is_not_remembered(tmp_path, monkeypatch) -> None:
    store, refused = (
        Store(tmp_path),
        "torch.compile's own result does not pass: the outputs are out['out'], out['grad']['_orig_mod.weight']",
    )
    for reason in (refused, "another"):
        record = make_record("wrong_shape").model_copy(
            update={"kind": "baseline", "verdict": Verdict(outcome="wrong_shape", reason=reason)}
        )
        record = record.model_copy(update={"id": reason.encode().hex()[:16]})
        problem = SimpleNamespace(id=record.subject.problem, hash=record.subject.problem_hash)
        session = SimpleNamespace(bench=SimpleNamespace(machine=record.machine), request=SimpleNamespace(problem=problem))
        monkeypatch.setattr(compiled, "case_of", lambda _, case=record.case: case)
        store.append(record)
        found = compiled.find_baseline(session, store)
        assert found is None if reason == refused else found.verdict.reason == reason
